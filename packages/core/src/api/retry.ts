import type { Millis } from "./values.js";

export interface RetryPolicy {
  /** Delay before try `attempt` (from 1), or `null` to stop. Sees only errors whose `retryable` is true. */
  next(attempt: number, elapsedMs: Millis, error: unknown): Millis | null;
}
