import { once } from "node:events";

/** Listens for SIGINT, SIGTERM and SIGHUP as soon as it is made, so that an early signal is not missed. */
export class StopRequest implements AsyncDisposable {
  readonly #ended = new AbortController();
  readonly #signals: Promise<unknown>[];
  /** Keeps the process alive, so that nothing else has to. */
  readonly #alive: NodeJS.Timeout;

  constructor() {
    this.#signals = ["SIGINT", "SIGTERM", "SIGHUP"].map((name) =>
      once(process, name, { signal: this.#ended.signal }),
    );
    for (const signal of this.#signals) signal.catch(() => {}); // they reject when this object is disposed of
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
