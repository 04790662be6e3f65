import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/**
 * A shell that ends the server when the pipe to its standard input closes. The pipe closes however this process ends.
 */
const leashed = `exec 3<&0; "$@" </dev/null 3<&- & echo $! >&4
read -r _ <&3; kill -CONT $! 2>/dev/null; kill -KILL $! 2>/dev/null; wait $!`;

export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** A server of a kind that the chaos runner does not know. It does not outlive this process. */
export class ServerProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #running = true;

  private constructor(child: ChildProcess, pid: number) {
    this.pid = pid;
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once("exit", () => {
        this.#running = false;
        resolve();
      });
    });
  }

  static async start({ command, args, ...where }: Start, logFile: string): Promise<ServerProcess> {
    const log = openSync(logFile, "a");
    const child = spawn("/bin/sh", ["-c", leashed, "sh", command, ...args], {
      ...where,
      stdio: ["pipe", log, log, "ignore", "pipe"],
    });
    closeSync(log);
    const said = child.stdio[4] as NodeJS.ReadableStream;
    const pid = await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      said.once("data", (text) => resolve(Number(String(text))));
    });
    return new ServerProcess(child, pid);
  }

  get running(): boolean {
    return this.#running;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#running) process.kill(this.pid, signal);
  }

  /** Sends SIGKILL, also to a stopped server. Resolves when it is gone. */
  async kill(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }
}
