import type { LockCollector, LockFigures, Moment, ObservedLock } from "@holdfast/collectors";
import { type LabelGuard, labelWord, otherValue } from "@holdfast/metrics/internal";
import { TopRows } from "./top-rows.js";
import { unknownRecipe } from "./words.js";

export interface NamedCollector {
  readonly name: string;
  readonly collector: LockCollector;
}

export interface GroupCount {
  readonly cluster: string;
  readonly backend: ObservedLock["backend"];
  readonly group: string;
  waiters: number;
  /** Undefined if nothing is held. `null` if something is held and no age of it is known. */
  oldestHoldSeconds?: number | null;
  /** The same for waits. */
  oldestWaitSeconds?: number | null;
}

export interface KindCount {
  readonly cluster: string;
  readonly backend: ObservedLock["backend"];
  readonly recipe: string;
  readonly state: ObservedLock["state"];
  count: number;
}

export interface LockRef {
  readonly cluster: string;
  readonly backend: ObservedLock["backend"];
  readonly key: string;
}

/** All locks counted once, for one scrape. */
export interface LockCensus {
  readonly kinds: ReadonlyMap<string, KindCount>;
  readonly groups: ReadonlyMap<string, GroupCount>;
  readonly topWaiters: TopRows<LockRef>;
  readonly topHolds: TopRows<LockRef>;
  readonly topWaits: TopRows<LockRef>;
  /** Whether some group had to be called `__other__`. */
  readonly overflowed: boolean;
}

/** The kinds whose grants leave no trace on Redis. */
const unseenGrants = new Set<ObservedLock["kind"]>(["semaphore", "permit-semaphore", "count-down-latch"]);

/** How long the count works before other work may run; the clock is read once for `rowsAtATime` rows. */
const turnMs = 5;
const rowsAtATime = 128;

/** Goes through every lock, with breaks in which streams and requests are served. */
export async function countLocks(
  clusters: readonly NamedCollector[],
  groupOf: (key: string) => string,
  guardOf: (cluster: string) => LabelGuard,
  topLocks: number,
): Promise<LockCensus> {
  const kinds = new Map<string, KindCount>();
  const groups = new Map<string, GroupCount>();
  const topWaiters = new TopRows<LockRef>(topLocks);
  const topHolds = new TopRows<LockRef>(topLocks);
  const topWaits = new TopRows<LockRef>(topLocks);
  let overflowed = false;
  let rows = 0;
  let turnBegunMs = performance.now();
  for (const { name: cluster, collector } of clusters) {
    const { backend } = collector;
    const guard = guardOf(cluster);
    for (const lock of collector.figures()) {
      if (++rows % rowsAtATime === 0 && performance.now() - turnBegunMs >= turnMs) {
        await new Promise((resolve) => setImmediate(resolve));
        turnBegunMs = performance.now();
      }
      const { kind, state, key } = lock;
      const kindKey = `${cluster} ${backend} ${kind} ${state}`;
      const counted = kinds.get(kindKey);
      if (counted !== undefined) counted.count += 1;
      else {
        const recipe = kind === null ? unknownRecipe : labelWord(kind);
        kinds.set(kindKey, { cluster, backend, recipe, state, count: 1 });
      }
      const group = guard.admit(groupOf(key));
      if (group === otherValue) overflowed = true;
      const groupKey = `${cluster} ${backend} ${group}`;
      let sum = groups.get(groupKey);
      if (sum === undefined) {
        sum = { cluster, backend, group, waiters: 0 };
        groups.set(groupKey, sum);
      }
      if (state === "idle") continue;
      const ref = (): LockRef => ({ cluster, backend, key });
      if (lock.holderCount > 0) {
        const holdSeconds = ageSeconds(lock.oldestHold, lock);
        sum.oldestHoldSeconds = older(sum.oldestHoldSeconds, holdSeconds);
        topHolds.offer(holdSeconds ?? 0, ref);
      }
      if (lock.waiterCount > 0) {
        const waitSeconds = ageSeconds(lock.oldestWait, lock);
        // Candidates wait for as long as the leader lives, so they are no sign of a queue that does not advance. The
        // same holds for waiters whose grants are not seen.
        if (kind !== "leader-election" && !(backend === "redis" && unseenGrants.has(kind))) {
          sum.waiters += lock.waiterCount;
          sum.oldestWaitSeconds = older(sum.oldestWaitSeconds, waitSeconds);
        }
        topWaiters.offer(lock.waiterCount, ref);
        topWaits.offer(waitSeconds ?? 0, ref);
      }
    }
  }
  return { kinds, groups, topWaiters, topHolds, topWaits, overflowed };
}

/** `null` for an unknown age, because an age is never made up. The time since the lock was read does not count. */
function ageSeconds({ atMs }: Moment, { readMs }: Pick<LockFigures, "readMs">): number | null {
  return atMs === null ? null : Math.max(0, (readMs - atMs) / 1000);
}

function older(oldest: number | null | undefined, age: number | null): number | null {
  return oldest == null || age === null ? (oldest ?? age) : Math.max(oldest, age);
}
