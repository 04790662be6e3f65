import type { LockProvider, SessionState } from "@holdfast/core";
import { createProvider, EventHub } from "@holdfast/core/internal";
import { requestMeter } from "@holdfast/redis-recipes/internal";
import { RedLockDesk } from "./desk.js";
import { RedLockDriver } from "./driver.js";
import { MajorityLink } from "./majority-link.js";
import { type RedLocksOptions, type ResolvedRedLocksOptions, resolveRedLocks } from "./options.js";
import type { RedLockGrant } from "./red-lock-grant.js";
import type { OpenLine } from "./voting-node.js";

/**
 * Mutexes, re-entrant or not, that a majority of independent Redis masters grants. Survives the loss of a minority of
 * them. On each node it is Redisson's plain lock, so that Redisson's `RedissonRedLock` and multi-lock over the same
 * nodes are excluded and exclude us.
 *
 * Safe as long as the clocks of client and nodes run at nearly the same rate, and no code acts on a hold after a pause that
 * followed its last `assertHeld()`: against such a pause only a fencing token helps (option `fencing`). Where a second holder
 * would be a disaster, use ZooKeeper.
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
  return openRedLocks(resolveRedLocks(options));
}

/** For simulations. */
export interface Seams {
  /** In place of connections. */
  readonly open?: OpenLine;
  /** Gets the holds, as they come and go. */
  watch?(holds: ReadonlySet<RedLockGrant>): void;
}

export function openRedLocks(settings: ResolvedRedLocksOptions, { open, watch }: Seams = {}): LockProvider {
  const { runtime } = settings.common;
  const id = runtime.randomId();
  const events = new EventHub({ provider: id, backend: "redlock", runtime });
  const cluster = settings.nodes.map(({ name }) => name).join(",");
  const majority = Math.floor(settings.nodes.length / 2) + 1;
  const onState = (state: SessionState): void => {
    // Holds first, so that whoever looks at a handle when told of the state finds it told too.
    desk.contactChanged();
    if (events.has("session-state")) events.emit("session-state", { state, timeoutMs: 0, cluster });
  };
  // The desk tells nothing before this function is done: its connections come in later turns.
  const link = new MajorityLink(() => desk.nodes, majority, onState);
  const desk = new RedLockDesk(
    settings,
    { connectionChanged: () => link.connectionChanged(), meter: requestMeter(events) },
    open,
  );
  watch?.(desk.holds);
  const driver = new RedLockDriver(desk);
  return createProvider({
    id,
    driver,
    link,
    events,
    options: settings.common,
    defaultLeaseMs: settings.leaseMs,
  });
}
