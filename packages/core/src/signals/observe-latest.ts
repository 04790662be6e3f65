import { HoldfastError } from "../api/errors.js";
import type { Millis } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import { waitLocally } from "./wait-locally.js";

/** A value at the backend, with a report when it may have changed. */
export interface Watched<T> {
  /** Calls `changed` whenever `read()` may give another result than the last one. The returned function ends that. */
  subscribe(changed: () => void): () => void;
  read(): Promise<T>;
  /**
   * Whether the backend has answered, although a `read()` with several requests may not be over. Left out: each
   * `read()` makes one request.
   */
  readonly answered?: boolean;
}

export interface ObservedSource<T> extends Watched<T> {
  /** Whether an observer that has seen `seen` does not need to see `now`. */
  same(seen: T, now: T): boolean;
  readonly signal?: AbortSignal | undefined;
  /** The lock name in its errors. */
  readonly name: string;
}

/** The time between two tries of a read that failed, when the retry policy gives none. */
const readAgainMs: Millis = 1_000;

/**
 * Yields the present value at once, then each change. It reads only when it is asked for the next value, and one read at a
 * time, so a slow consumer sees the latest value and not every one. It waits until an outage is over. An abort of `signal`
 * ends it without an error, the end of the provider ends it with `ProviderClosedError`, and an error that is not retryable
 * ends it with that error.
 *
 * `source` is called for each iterator: two that shared one subscription would take the changes away from each other.
 */
export function observeLatest<T>(engine: GrantEngine, source: () => ObservedSource<T>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new LatestValues(engine, source()) };
}

type Reading<T> = { readonly value: T } | { readonly error: unknown };

const nothing = (): void => {};

class LatestValues<T> implements AsyncIterator<T, undefined> {
  readonly #engine: GrantEngine;
  readonly #source: ObservedSource<T>;
  #stop: (() => void) | null = null;
  #changed = true;
  #seen: { readonly value: T } | null = null;
  #ended = false;
  #wake: () => void = nothing;
  /** The last call of `next()`: calls run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(engine: GrantEngine, source: ObservedSource<T>) {
    this.#engine = engine;
    this.#source = source;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const result = this.#last.then(() => this.#advance());
    this.#last = result.catch(nothing);
    return result;
  }

  /** Also ends a `next()` that is waiting. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#end();
    return { done: true, value: undefined };
  }

  async #advance(): Promise<IteratorResult<T, undefined>> {
    try {
      const found = await this.#nextValue();
      if (found === null) return { done: true, value: undefined };
      this.#seen = found;
      return { done: false, value: found.value };
    } catch (error) {
      const { signal } = this.#source;
      this.#end();
      if (signal?.aborted === true) return { done: true, value: undefined };
      throw this.#engine.typed(error, this.#source.name);
    }
  }

  async #nextValue(): Promise<{ value: T } | null> {
    let failingSinceMs: Millis = 0;
    for (let failures = 0; !this.#ended; ) {
      this.#source.signal?.throwIfAborted();
      // It subscribes before the first read, so that no change falls between the two.
      this.#stop ??= this.#source.subscribe(() => {
        this.#changed = true;
        this.#wake();
      });
      if (!this.#changed) await this.#pause(Infinity);
      if (!this.#changed) continue;
      this.#changed = false;
      const read = await this.#read();
      if (read === null) continue;
      if ("error" in read) {
        this.#changed = true;
        if (failures === 0) failingSinceMs = this.#engine.runtime.nowMs();
        await this.#failed(read.error, ++failures, failingSinceMs);
      } else if (this.#seen === null || !this.#source.same(this.#seen.value, read.value)) {
        return read;
      } else {
        failures = 0;
      }
    }
    return null;
  }

  /** `null` when the iteration ended first; the result of the read is then ignored. */
  async #read(): Promise<Reading<T> | null> {
    const box: { reading: Reading<T> | null; wake: () => void } = { reading: null, wake: nothing };
    const settled = (reading: Reading<T>): void => {
      box.reading = reading;
      box.wake();
    };
    this.#source.read().then(
      (value) => settled({ value }),
      (error) => settled({ error }),
    );
    while (!this.#ended && box.reading === null) {
      await this.#pause(Infinity, (wake) => {
        box.wake = wake;
      });
    }
    return this.#ended ? null : box.reading;
  }

  async #failed(error: unknown, failures: number, sinceMs: Millis): Promise<void> {
    const { runtime, options } = this.#engine;
    if (!(error instanceof HoldfastError) || !error.retryable) throw error;
    const nowMs = runtime.nowMs();
    const delayMs = options.retry.next(failures, nowMs - sinceMs, error) ?? readAgainMs;
    await this.#pause(nowMs + delayMs);
  }

  async #pause(untilMs: Millis, armed: (wake: () => void) => void = nothing): Promise<void> {
    const bounds = { deadlineMs: untilMs, signal: this.#source.signal };
    await waitLocally(this.#engine, bounds, (wake) => {
      this.#wake = wake;
      armed(wake);
      return () => {
        this.#wake = nothing;
      };
    });
  }

  #end(): void {
    this.#ended = true;
    this.#stop?.();
    this.#stop = null;
    this.#wake();
  }
}
