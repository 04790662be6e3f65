import type { Millis } from "./values.js";

/**
 * When trouble in transport is tried again inside one call. Contention is no such trouble: a waiter waits in the
 * queue.
 */
export interface RetryPolicy {
  /**
   * Milliseconds before try `attempt`, counted from 1, or `null` to stop. `elapsedMs`: milliseconds since the call, or its first request,
   * began. Sees only errors whose `retryable` is true. A policy that throws, or gives anything but `null` or a finite number of
   * milliseconds, stops as well, and `process.emitWarning` reports the mistake.
   */
  next(attempt: number, elapsedMs: Millis, error: unknown): Millis | null;
}
