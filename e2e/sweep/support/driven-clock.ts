import type { Millis, Runtime } from "@holdfast/core";
import { seededRandom } from "@holdfast/core/testing";
import { ManualClock } from "@holdfast/test-servers";

/** One clock for the server and all its clients. It knows when the next timer is due. */
export class DrivenClock extends ManualClock {
  readonly #dueMs = new Map<symbol, Millis>();

  constructor() {
    super({ nowMs: 1_000 });
  }

  override at(atMs: Millis, callback: () => void): () => void {
    const key = Symbol("timer");
    this.#dueMs.set(key, atMs);
    const cancel = super.at(atMs, () => {
      this.#dueMs.delete(key);
      callback();
    });
    return () => {
      this.#dueMs.delete(key);
      cancel();
    };
  }

  /** Moves to the time of the next timer and runs what is due then. Returns `false` if no timer is set. */
  step(): boolean {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const atMs of this.#dueMs.values()) nextMs = Math.min(nextMs, atMs);
    if (nextMs === Number.POSITIVE_INFINITY) return false;
    this.advance(Math.max(0, nextMs - this.nowMs()));
    return true;
  }

  /** The runtime of one client: this clock, and random numbers of its own. */
  runtime(seed: number): Runtime {
    const random = seededRandom(seed);
    const digits = (count: number): string =>
      Array.from({ length: count }, () => Math.floor(random() * 16).toString(16)).join("");
    return {
      nowMs: () => this.nowMs(),
      wallMs: () => this.wallMs(),
      random,
      randomId: () => [8, 4, 4, 4, 12].map(digits).join("-"),
      setTimer: (delayMs, fn) => this.at(this.nowMs() + Math.max(0, delayMs), fn),
    };
  }
}
