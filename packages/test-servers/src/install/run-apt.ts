import { spawn } from "node:child_process";
import { NotInstalledError } from "../errors.js";

/** Runs apt-get without questions, waiting up to five minutes for another apt-get to finish. */
export async function runApt(command: string, args: readonly string[], cwd?: string): Promise<void> {
  const child = spawn(command, ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3", ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => output.push(text));
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) {
    const tail = output.join("").trimEnd().split("\n").slice(-20).join("\n");
    throw new NotInstalledError(`apt-get ${args.join(" ")} ended with ${code}:\n${tail}`);
  }
}
