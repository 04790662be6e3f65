import type { ObservedLock } from "@holdfast/core/observe";
import type { Overview } from "../contract/api.js";
import type { NamedCollector } from "./cluster-row.js";
import { rowOf } from "./rows.js";

const hotRows = 10;

/** What a walk over all locks counts. */
export interface Census {
  readonly takenMs: number;
  readonly held: number;
  readonly contended: number;
  readonly waiting: number;
  readonly oldestWaitAtMs: number | null;
  readonly hot: Overview["hot"];
}

export function takeCensus(clusters: Iterable<NamedCollector>, nowMs: number): Census {
  let held = 0;
  let contended = 0;
  let waiting = 0;
  let oldestWaitAtMs: number | null = null;
  const hot: Hot[] = [];
  for (const { name, collector } of clusters) {
    for (const lock of collector.locks()) {
      if (lock.state === "idle") continue;
      // A contended lock is held too, unless its holder has just gone.
      if (lock.holderCount > 0) held += 1;
      if (lock.state !== "contended") continue;
      contended += 1;
      waiting += lock.waiterCount;
      const { atMs } = lock.oldestWait;
      if (atMs !== null && (oldestWaitAtMs === null || atMs < oldestWaitAtMs)) oldestWaitAtMs = atMs;
      place(hot, { cluster: name, lock });
    }
  }
  return {
    takenMs: nowMs,
    held,
    contended,
    waiting,
    oldestWaitAtMs,
    hot: hot.map(({ cluster, lock }) => rowOf(cluster, lock)),
  };
}

interface Hot {
  readonly cluster: string;
  readonly lock: ObservedLock;
}

/** The list stays as short as it is shown: nearly every lock is turned away by one comparison. */
function place(hot: Hot[], one: Hot): void {
  const last = hot.at(-1);
  if (hot.length >= hotRows && last !== undefined && !isHotter(one.lock, last.lock)) return;
  const at = hot.findIndex(({ lock }) => isHotter(one.lock, lock));
  hot.splice(at === -1 ? hot.length : at, 0, one);
  if (hot.length > hotRows) hot.pop();
}

function isHotter(a: ObservedLock, b: ObservedLock): boolean {
  if (a.waiterCount !== b.waiterCount) return a.waiterCount > b.waiterCount;
  return (a.oldestWait.atMs ?? Number.MAX_VALUE) < (b.oldestWait.atMs ?? Number.MAX_VALUE);
}
