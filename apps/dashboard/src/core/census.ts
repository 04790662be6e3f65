import type { LockFigures } from "@holdfast/collectors";
import type { Overview } from "../contract/api.js";
import type { NamedCollector } from "./cluster-row.js";
import { rowOf } from "./rows.js";
import { Turns } from "./turns.js";

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

/** Counts in turns, so that other work can run meanwhile. A change in that time may or may not be counted. */
export async function takeCensus({ name, collector }: NamedCollector, nowMs: number): Promise<Census> {
  const turns = new Turns();
  let held = 0;
  let contended = 0;
  let waiting = 0;
  let oldestWaitAtMs: number | null = null;
  const hot: Hot[] = [];
  for (const lock of collector.figures()) {
    if (turns.isOver()) await turns.next();
    if (lock.state === "idle") continue;
    // A contended lock is held too, unless its holder has just gone.
    if (lock.holderCount > 0) held += 1;
    if (lock.state !== "contended") continue;
    contended += 1;
    waiting += lock.waiterCount;
    const { atMs } = lock.oldestWait;
    if (atMs !== null && (oldestWaitAtMs === null || atMs < oldestWaitAtMs)) oldestWaitAtMs = atMs;
    place(hot, { cluster: name, collector, lock });
  }
  return {
    takenMs: nowMs,
    held,
    contended,
    waiting,
    oldestWaitAtMs,
    // The rows are read now, so they may differ from what was counted.
    hot: hottestFirst(
      hot.flatMap(({ cluster, collector, lock }) => {
        const row = collector.get(lock.key);
        return row === undefined ? [] : [rowOf(cluster, row)];
      }),
    ),
  };
}

/** The census of several clusters together; its time is that of the oldest part. */
export function mergeCensuses(parts: readonly Census[], nowMs: number): Census {
  const sum = (of: (part: Census) => number): number => parts.reduce((so, part) => so + of(part), 0);
  const waits = parts.flatMap(({ oldestWaitAtMs }) => (oldestWaitAtMs === null ? [] : [oldestWaitAtMs]));
  return {
    takenMs: parts.reduce((oldest, { takenMs }) => Math.min(oldest, takenMs), nowMs),
    held: sum(({ held }) => held),
    contended: sum(({ contended }) => contended),
    waiting: sum(({ waiting }) => waiting),
    oldestWaitAtMs: waits.length === 0 ? null : Math.min(...waits),
    hot: hottestFirst(parts.flatMap(({ hot }) => hot)).slice(0, hotRows),
  };
}

interface Hot {
  readonly cluster: string;
  readonly collector: NamedCollector["collector"];
  readonly lock: LockFigures;
}

type Heat = Pick<LockFigures, "waiterCount" | "oldestWait">;

/** The list stays as short as it is shown, so that one comparison is enough to refuse nearly every lock. */
function place(hot: Hot[], one: Hot): void {
  const last = hot.at(-1);
  if (hot.length >= hotRows && last !== undefined && !isHotter(one.lock, last.lock)) return;
  const at = hot.findIndex(({ lock }) => isHotter(one.lock, lock));
  hot.splice(at === -1 ? hot.length : at, 0, one);
  if (hot.length > hotRows) hot.pop();
}

function hottestFirst(rows: Overview["hot"]): Overview["hot"] {
  return [...rows].sort((a, b) => (isHotter(a, b) ? -1 : isHotter(b, a) ? 1 : 0));
}

function isHotter(a: Heat, b: Heat): boolean {
  if (a.waiterCount !== b.waiterCount) return a.waiterCount > b.waiterCount;
  return (a.oldestWait.atMs ?? Number.MAX_VALUE) < (b.oldestWait.atMs ?? Number.MAX_VALUE);
}
