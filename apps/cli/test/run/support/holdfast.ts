import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../../dist/cli.js", import.meta.url));

export const writer: string = fileURLToPath(new URL("writer.mjs", import.meta.url));
export const blockable: string = new URL("blockable.mjs", import.meta.url).href;

/** Whether the process lives. A dead process whose parent has not yet asked for its end does not count. */
export function alive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

/** A running `holdfast`. */
export class Holdfast {
  readonly process: ChildProcess;
  stdout = "";
  stderr = "";
  readonly #closed: Promise<unknown>;

  /** Runs in a folder without a configuration, and of variables for holdfast it gets only those of `env`. */
  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const kept = Object.entries(process.env).filter(([name]) => !/^(HOLDFAST_|NODE_OPTIONS)/.test(name));
    this.process = spawn(process.execPath, [program, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...Object.fromEntries(kept), ...env },
      cwd: fileURLToPath(new URL(".", import.meta.url)),
    });
    this.process.stdout?.on("data", (data: Buffer) => {
      this.stdout += data;
    });
    this.process.stderr?.on("data", (data: Buffer) => {
      this.stderr += data;
    });
    this.#closed = once(this.process, "exit");
  }

  get pid(): number {
    return this.process.pid as number;
  }

  get over(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  /** The exit code, or the name of the signal that ended it. Rejects after `withinMs`. */
  async ended(withinMs = 60_000): Promise<number | string> {
    const late = AbortSignal.timeout(withinMs);
    await Promise.race([this.#closed, once(late, "abort")]);
    const { exitCode, signalCode } = this.process;
    const end = exitCode ?? signalCode;
    if (end !== null) return end;
    throw new Error(
      `holdfast ${this.process.spawnargs.slice(2).join(" ")} has not ended; it said: ${this.stderr}`,
    );
  }

  /** Kills the process at the end of a test, whatever its state. Its supervisor then ends what it has started. */
  [Symbol.dispose](): void {
    this.process.kill("SIGKILL");
  }
}
