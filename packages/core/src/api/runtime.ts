import type { Millis } from "./values.js";

/** Injected everywhere time or chance is read, so that the whole core can run in a simulation. */
export interface Runtime {
  /** Milliseconds of a clock that only goes forward, from any origin. */
  nowMs(): Millis;
  /** Milliseconds since 1970, as `Date.now()`. Only for what is shown to people: no deadline depends on it. */
  wallMs(): Millis;
  /** A random number from 0 to below 1, for delays of retries. */
  random(): number;
  /** An id that no other client draws, as `crypto.randomUUID()`. */
  randomId(): string;
  /** Clamped to 2^31 - 1; unref'd unless asked. Returns the cancel. */
  setTimer(delayMs: Millis, fn: () => void, options?: { ref?: boolean }): () => void;
}
