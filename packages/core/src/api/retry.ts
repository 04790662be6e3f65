import type { Millis } from "./values.js";

export interface RetryPolicy {
  /**
   * Delay before try `attempt` (from 1), or `null` to stop. Sees only errors whose `retryable` is true. A policy that throws, or
   * gives anything but `null` or a finite number of milliseconds, stops as well, and `process.emitWarning` tells of the mistake.
   */
  next(attempt: number, elapsedMs: Millis, error: unknown): Millis | null;
}
