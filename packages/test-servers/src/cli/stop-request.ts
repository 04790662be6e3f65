import { once } from "node:events";

/** Listens for ctrl-C and its likes from the moment it is made, so that an early one is not missed. */
export class StopRequest implements AsyncDisposable {
  readonly #ended = new AbortController();
  readonly #signals: Promise<unknown>[];
  /** Nothing else need keep the process alive. */
  readonly #alive: NodeJS.Timeout;

  constructor() {
    this.#signals = ["SIGINT", "SIGTERM", "SIGHUP"].map((name) =>
      once(process, name, { signal: this.#ended.signal }),
    );
    for (const signal of this.#signals) signal.catch(() => {}); // rejected when this is disposed of
    this.#alive = setInterval(() => {}, 60_000);
  }

  /** Resolves with the first signal. */
  async came(): Promise<void> {
    await Promise.race(this.#signals);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#alive);
    this.#ended.abort();
    await Promise.allSettled(this.#signals);
  }
}
