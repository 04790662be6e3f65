import type { LockProvider } from "@holdfast/core";
import { DriverProvider, EventHub } from "@holdfast/core/internal";
import { redLockDriver } from "./driver.js";
import { type RedLocksOptions, type ResolvedRedLocksOptions, resolveRedLocks } from "./options.js";
import { Quorum } from "./quorum.js";
import type { OpenLine } from "./voting-node.js";

/**
 * Mutexes, re-entrant or not, that a majority of independent Redis masters grants. They survive the loss of a minority of
 * the masters. On each node the lock is Redisson's plain lock. So it excludes Redisson's `RedissonRedLock` and multi-lock over
 * the same nodes, and they exclude it.
 *
 * Safe under two conditions: the clocks of client and nodes run at nearly the same rate, and no code acts on a hold after a
 * pause that followed its last `assertHeld()`. Against such a pause only a fencing token helps (option `fencing`). Where a
 * second holder would be a disaster, use ZooKeeper.
 *
 * Returns at once and connects in the background. Throws `InvalidArgumentError` for unknown options and values that
 * cannot be right.
 *
 * @example
 * ```ts
 * import { redLocks } from "@holdfast/multi-lock";
 *
 * await using locks = redLocks({ nodes: ["redis://redis-a:6379", "redis://redis-b:6379", "redis://redis-c:6379"] });
 * await locks.mutex("nightly-report").withLock(({ lost }) => makeReport(lost));
 * ```
 */
export function redLocks(options: RedLocksOptions): LockProvider {
  return openRedLocks(resolveRedLocks(options)).locks;
}

/** `open`: for simulations, in place of connections. */
export function openRedLocks(
  settings: ResolvedRedLocksOptions,
  open?: OpenLine,
): { readonly locks: LockProvider; readonly quorum: Quorum } {
  const { runtime } = settings.common;
  const events = new EventHub({ provider: runtime.randomId(), backend: "redlock", runtime });
  const quorum = new Quorum(settings, events, open);
  const driver = redLockDriver(quorum);
  const { common: options, leaseMs: defaultLeaseMs } = settings;
  return { locks: new DriverProvider({ driver, link: quorum, events, options, defaultLeaseMs }), quorum };
}
