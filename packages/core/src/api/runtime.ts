import type { Millis } from "./values.js";

/** Clocks, timers and random numbers. Core reads them only through this interface, so that all of it can run in a simulation. */
export interface Runtime {
  /** Milliseconds of a clock that only goes forward, from any origin. */
  nowMs(): Millis;
  /**
   * Milliseconds since 1970, as `Date.now()`. For times that are shown to people, and to notice that the machine has slept: a
   * jump puts holds in doubt, and ends none.
   */
  wallMs(): Millis;
  /** A random number from 0 to below 1, for delays of retries. */
  random(): number;
  /** An id that no other client draws, as `crypto.randomUUID()`. */
  randomId(): string;
  /**
   * Calls `fn` once after `delayMs` milliseconds, or after 2^31 - 1 ms if that is shorter. The timer keeps the process alive only
   * with `ref: true`; default false. Returns a function that cancels it.
   */
  setTimer(delayMs: Millis, fn: () => void, options?: { ref?: boolean }): () => void;
}
