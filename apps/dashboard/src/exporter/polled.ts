import type { Millis } from "@holdfast/core";

export interface PolledTimes {
  /** The time between the beginnings of two reads. */
  readonly everyMs: Millis;
  /** How long a scrape waits. The read goes on after that, and the next scrape gets its answer. */
  readonly patienceMs: Millis;
  /** An answer older than this is not given. */
  readonly maxAgeMs: Millis;
}

const usual: PolledTimes = { everyMs: 15_000, patienceMs: 1_000, maxAgeMs: 60_000 };

/**
 * A read that costs the backend something, for scrapes. It limits the cost, however often scrapes come and however slow
 * the backend is.
 */
export class Polled<T> {
  readonly #read: () => Promise<T>;
  readonly #times: PolledTimes;
  #begunMs = -Infinity;
  #current: Promise<void> | undefined;
  #last: { readonly value: T; readonly atMs: Millis } | undefined;

  constructor(read: () => Promise<T>, times: PolledTimes = usual) {
    this.#read = read;
    this.#times = times;
  }

  /** `undefined` if there is no answer young enough. Never rejects. */
  async get(): Promise<T | undefined> {
    if (this.#current === undefined && performance.now() - this.#begunMs >= this.#times.everyMs)
      this.#begin();
    if (this.#current !== undefined) await within(this.#current, this.#times.patienceMs);
    const last = this.#last;
    return last !== undefined && performance.now() - last.atMs <= this.#times.maxAgeMs
      ? last.value
      : undefined;
  }

  #begin(): void {
    this.#begunMs = performance.now();
    this.#current = new Promise<T>((resolve) => resolve(this.#read())).then(
      (value) => {
        this.#current = undefined;
        this.#last = { value, atMs: performance.now() };
      },
      () => {
        // The collector reports trouble by its sources. Here it shows as a missing series.
        this.#current = undefined;
      },
    );
  }
}

function within(promise: Promise<void>, ms: Millis): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    timer.unref();
    promise.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
