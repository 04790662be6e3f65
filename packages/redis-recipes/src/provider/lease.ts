import { InvalidArgumentError, type Millis } from "@holdfast/core";
import { show } from "@holdfast/core/internal";

/** A shorter one is nearly always meant in seconds, and would be renewed dozens of times in each. */
export const leastLeaseMs: Millis = 100;
/** 68 years. Redis refuses much longer times, and a script would have half of its work done by then. */
export const mostLeaseMs: Millis = 2 ** 31 * 1_000;

/** Throws `InvalidArgumentError` for a lease that the scripts cannot set, or that cannot have been meant. */
export function checkLease(what: string, leaseMs: Millis): void {
  if (leaseMs >= leastLeaseMs && leaseMs <= mostLeaseMs) return;
  throw new InvalidArgumentError(
    `${what} must be from ${leastLeaseMs} to ${mostLeaseMs} ms on Redis; got ${show(leaseMs)}`,
    { backend: "redis" },
  );
}
