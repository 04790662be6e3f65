import type { RetryPolicy } from "./api/retry.js";
import type { Millis } from "./api/values.js";
import { show, stackOf } from "./options/checks.js";

/** What `fullJitterRetry()` takes. */
export interface FullJitterOptions {
  /** Upper bound of the first delay, in milliseconds. Default 50. */
  baseMs?: Millis;
  /** Upper bound of any delay, in milliseconds. Default 2,000. */
  capMs?: Millis;
  /** The policy gives up after this many tries. Default: never; the `waitMs` of the call ends the tries. */
  maxAttempts?: number;
  /** A number from 0 to below 1 for each delay. Default `Math.random`. */
  random?: () => number;
}

/**
 * The default policy: a random delay between 0 and a bound that doubles with each try. The delay is random over the whole
 * range, because clients that lost one server together should not come back together.
 */
export function fullJitterRetry(options: FullJitterOptions = {}): RetryPolicy {
  const { baseMs = 50, capMs = 2_000, maxAttempts = Infinity, random = Math.random } = options;
  return {
    next(attempt) {
      if (attempt > maxAttempts) return null;
      return random() * Math.min(capMs, baseMs * 2 ** (attempt - 1));
    },
  };
}

/**
 * Wraps a caller's policy, which is asked in the middle of callbacks. A mistake in the policy must not leave an acquire
 * without an end. So it ends the tries, and the acquire rejects with the failure that the policy was asked about.
 */
export function guardedRetry(factoryName: string, policy: RetryPolicy): RetryPolicy {
  const stop = (mistake: string): null => {
    process.emitWarning(`${factoryName}: retry.next ${mistake}`, { type: "HoldfastWarning" });
    return null;
  };
  return {
    next(attempt, elapsedMs, error) {
      let delayMs: unknown;
      try {
        delayMs = policy.next(attempt, elapsedMs, error);
      } catch (thrown) {
        return stop(`threw: ${stackOf(thrown)}`);
      }
      if (delayMs === null || (Number.isFinite(delayMs) && (delayMs as Millis) >= 0))
        return delayMs as Millis | null;
      return stop(`must give null or a number of milliseconds, 0 or more and finite; got ${show(delayMs)}`);
    },
  };
}
