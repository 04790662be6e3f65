import { InvalidArgumentError } from "../api/errors.js";
import type { CountDownLatch } from "../api/rendezvous.js";
import type { GrantEngine } from "../grants/engine.js";
import { show } from "../options/checks.js";
import type { Watched } from "../signals/observe-latest.js";
import { awaitValue } from "./await-value.js";
import { backendCall } from "./backend-call.js";
import { type WaitOptions, waitBounds } from "./wait-bounds.js";

/** A latch as a backend keeps it. Counts are whole, from 0 to `maximumCount`. */
export interface LatchStore extends Watched<number> {
  trySetCount(count: number): Promise<boolean>;
  /** Takes `by` off the count exactly once, but stops at zero. Resolves with the new count. */
  countDown(by: number): Promise<number>;
  /** Like `read()`, for a caller that reads once and has not subscribed to changes. */
  count(): Promise<number>;
}

/** The largest signed number of four bytes. */
const maximumCount = 2 ** 31 - 1;

/** A count that clients take down while others wait until it is zero. Once it is zero it can be set again. */
export class CountDownLatchView implements CountDownLatch {
  readonly name: string;
  readonly #engine: GrantEngine;
  /** Each wait has a store of its own, as it has its own watch. */
  readonly #store: () => LatchStore;

  constructor(engine: GrantEngine, name: string, store: () => LatchStore) {
    this.name = name;
    this.#engine = engine;
    this.#store = store;
  }

  async trySetCount(count: number): Promise<boolean> {
    checkSize("trySetCount: count", count, 0);
    return await backendCall(this.#engine, this.name, () => this.#store().trySetCount(count));
  }

  async countDown(by = 1): Promise<number> {
    checkSize("countDown: by", by, 1);
    return await backendCall(this.#engine, this.name, () => this.#store().countDown(by));
  }

  async count(): Promise<number> {
    return await backendCall(this.#engine, this.name, () => this.#store().count());
  }

  async wait(options?: WaitOptions): Promise<void> {
    const what = `the latch ${show(this.name)}`;
    const bounds = waitBounds(this.#engine, "wait", what, this.name, options);
    const atZero = () => awaitValue(this.#engine, bounds, this.#store(), (count) => count === 0);
    await backendCall(this.#engine, this.name, atZero, bounds.signal);
  }
}

function checkSize(what: string, value: unknown, least: number): void {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= maximumCount) return;
  throw new InvalidArgumentError(
    `${what} must be a whole number from ${least} to ${maximumCount}; got ${show(value)}`,
  );
}
