import { spawn } from "node:child_process";

/** Runs a command to its end. Rejects with the end of its output when it fails or takes longer. */
export function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; uid?: number; gid?: number; withinMs: number },
): Promise<string> {
  const { withinMs, ...settings } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...settings, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (data: Buffer) => {
      output += data.toString();
    });
    child.stderr.on("data", (data: Buffer) => {
      output += data.toString();
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), withinMs);
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`${command} does not start: ${error.message}`));
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code === 0) return resolve(output);
      const end = signal === "SIGKILL" ? `was ended after ${withinMs} ms` : `ended with ${code ?? signal}`;
      reject(new Error(`${command} ${end}: ${output.trim().slice(-2_000)}`));
    });
  });
}
