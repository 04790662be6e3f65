import type { Millis } from "./values.js";

/** Injected everywhere time or chance is read, so that the whole core can run in a simulation. */
export interface Runtime {
  /** Monotonic. */
  nowMs(): Millis;
  wallMs(): Millis;
  random(): number;
  randomId(): string;
  /** Clamped to 2^31 - 1; unref'd unless asked. Returns the cancel. */
  setTimer(delayMs: Millis, fn: () => void, options?: { ref?: boolean }): () => void;
}
