import type { RetryPolicy } from "./api/retry.js";
import type { Millis } from "./api/values.js";

export interface FullJitterOptions {
  /** Upper bound of the first delay. Default 50. */
  baseMs?: Millis;
  /** Upper bound of any delay. Default 2,000. */
  capMs?: Millis;
  /** Gives up after so many tries. Default: never; the `waitMs` of the call ends it. */
  maxAttempts?: number;
  random?: () => number;
}

/**
 * The default policy: a random delay between 0 and a bound that doubles with each try. Random over the whole range,
 * because clients that lost one server together should not come back together.
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
