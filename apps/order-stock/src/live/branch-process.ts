import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { WorkerError } from "../worker/worker-process.js";
import type { BranchJob } from "./messages.js";

const readyWithinMs = 60_000;
/** Time in which the process releases what it holds and ends. It is killed if it takes longer. */
const endWithinMs = 5_000;

/** A part of the shop, as the process that started it sees it. */
export class BranchProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  /** Rejects if the process ends by itself, which it never should. */
  readonly failed: Promise<never>;
  #dismissed = false;

  constructor(program: URL, job: BranchJob) {
    this.#name = job.name;
    this.#child = fork(program, [JSON.stringify(job)], {
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#exited = once(this.#child, "exit");
    this.failed = new Promise((_, reject) => {
      this.#child.once("exit", (code, by) => {
        if (!this.#dismissed) reject(new WorkerError(`${job.name} ended with ${by ?? code}`));
      });
      this.#child.once("error", reject);
    });
    // A caller may wait for `failed`, but need not: without this a rejection would end the program.
    this.failed.catch(() => {});
  }

  async ready(): Promise<void> {
    const late = AbortSignal.timeout(readyWithinMs);
    const told = once(this.#child, "message", { signal: late }).catch((error: Error) => {
      if (!late.aborted) throw error;
      throw new WorkerError(`${this.#name} was not ready within ${readyWithinMs} ms`);
    });
    await Promise.race([told, this.failed]);
  }

  async end(): Promise<void> {
    this.#dismissed = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    if (this.#child.connected) this.#child.disconnect();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), endWithinMs);
    await this.#exited;
    clearTimeout(timer);
  }
}
