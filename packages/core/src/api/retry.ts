import type { Millis } from "./values.js";

/**
 * Says when one call tries again after trouble in transport. Contention is no such trouble: a waiter waits in the queue.
 */
export interface RetryPolicy {
  /**
   * Returns the milliseconds to wait before retry `attempt`, counted from 1, or `null` to stop. `elapsedMs`: milliseconds since
   * the call, or its first request, began. Called only for errors whose `retryable` is true. A policy that throws, or returns
   * anything but `null` or a finite number of milliseconds, also stops the retries; `process.emitWarning` reports the mistake.
   */
  next(attempt: number, elapsedMs: Millis, error: unknown): Millis | null;
}
