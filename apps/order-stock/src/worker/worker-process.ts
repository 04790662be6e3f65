import { type ChildProcess, fork } from "node:child_process";
import { freeze } from "./freeze.js";
import type { Word, WorkerJob, WorkerNews } from "./messages.js";

type News<T extends WorkerNews["type"]> = Extract<WorkerNews, { type: T }>;

interface Expectation {
  readonly type: WorkerNews["type"];
  readonly resolve: (news: WorkerNews) => void;
  readonly reject: (error: Error) => void;
}

export interface WorkerProcessOptions {
  /** The worker's script, as JavaScript. */
  readonly program: URL;
  readonly job: WorkerJob;
}

const stderrKept = 4_096;

/** Time in which the process releases its lock, closes its session and ends. It is killed if it takes longer. */
const endWithinMs = 5_000;

/** A worker failed. The message says which one and how, with the end of its standard error. */
export class WorkerError extends Error {
  override readonly name: string = "WorkerError";
}

/** A worker, as the process that started it sees it. */
export class WorkerProcess {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #news: WorkerNews[] = [];
  readonly #expectations = new Set<Expectation>();
  #stderr = "";
  #over: Error | null = null;
  #thaw: (() => void) | null = null;

  constructor({ program, job }: WorkerProcessOptions) {
    this.name = job.name;
    const child = fork(program, [JSON.stringify(job)], {
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child = child;
    child.stderr?.on("data", (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-stderrKept);
    });
    child.on("message", (news) => this.#hear(news as WorkerNews));
    this.#exited = new Promise((resolve) => {
      child.once("exit", () => resolve());
      child.on("error", (error) => {
        this.#end(error);
        if (child.pid === undefined) resolve(); // it never started
      });
    });
    // Not "exit": at "close" everything that the worker sent before its end has arrived.
    child.once("close", (code, by) => this.#end(this.#failure(`ended with ${by ?? code}`)));
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`${this.name} did not start`);
    return this.#child.pid;
  }

  tell(word: Word): void {
    this.#child.send(word, (error) => {
      if (error !== null) this.#end(error);
    });
  }

  /**
   * The first news of that type, even if it came before the call. Rejects if the worker ends, fails or takes longer.
   */
  said<T extends WorkerNews["type"]>(type: T, withinMs: number): Promise<News<T>> {
    const known = this.#news.find((news): news is News<T> => news.type === type);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      if (this.#over !== null) {
        reject(this.#over);
        return;
      }
      const timer = setTimeout(() => {
        this.#expectations.delete(expectation);
        reject(this.#failure(`was not "${type}" within ${withinMs} ms`));
      }, withinMs);
      const expectation: Expectation = {
        type,
        resolve: (news) => {
          clearTimeout(timer);
          resolve(news as News<T>);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      this.#expectations.add(expectation);
    });
  }

  /** Makes every wait for news, present and future, reject with the reason. */
  interrupt(reason: Error): void {
    this.#end(reason);
  }

  async freeze(): Promise<void> {
    this.#thaw = await freeze(this.pid);
  }

  thaw(): void {
    this.#thaw?.();
    this.#thaw = null;
  }

  /**
   * Resolves when the process is gone. A worker that has finished ends by itself; others first release what they hold.
   */
  async end(): Promise<void> {
    this.thaw();
    if (this.#child.connected) this.#child.disconnect();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), endWithinMs);
    await this.#exited;
    clearTimeout(timer);
    // Node emits no "close" for a child from which this process has disconnected.
    this.#end(this.#failure("was dismissed"));
  }

  #hear(news: WorkerNews): void {
    if (news.type === "failed") {
      this.#end(this.#failure(`failed: ${news.message}`));
      return;
    }
    this.#news.push(news);
    for (const expectation of this.#expectations) {
      if (expectation.type !== news.type) continue;
      this.#expectations.delete(expectation);
      expectation.resolve(news);
    }
  }

  #end(error: Error): void {
    this.#over ??= error;
    for (const expectation of this.#expectations) expectation.reject(this.#over);
    this.#expectations.clear();
  }

  #failure(what: string): WorkerError {
    const stderr = this.#stderr.trim();
    return new WorkerError(`${this.name} ${what}${stderr === "" ? "" : `\n${stderr}`}`);
  }
}
