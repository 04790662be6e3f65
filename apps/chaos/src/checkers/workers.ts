import type { History } from "../history/history.js";
import type { Nanos } from "../history/record.js";

/** Whether a worker stood still at some moment from `from` to `to`. */
export function pausedWithin(history: History, p: string, from: Nanos, to: Nanos): boolean {
  let paused = Number.POSITIVE_INFINITY;
  for (const { f, t } of history.workers.get(p) ?? []) {
    if (f === "paused") paused = Math.min(paused, t);
    else {
      // A worker that was paused and then killed did nothing in between.
      if (paused <= to && t >= from) return true;
      paused = Number.POSITIVE_INFINITY;
    }
  }
  return paused <= to;
}

/** How long a resumed worker may take to notice what happened while it stood still, also on a busy machine. */
const catchUpNs = 1e9;

/**
 * How much later a worker may be because it stood still from `from` to `to`: the time of the pauses, and the time to
 * catch up after each.
 */
export function delayOf(history: History, p: string, from: Nanos, to: Nanos): Nanos {
  let delay = 0;
  let paused = Number.POSITIVE_INFINITY;
  const goesOn = (t: Nanos): void => {
    if (paused <= to && t >= from) delay += Math.min(t, to) - Math.max(paused, from) + catchUpNs;
    paused = Number.POSITIVE_INFINITY;
  };
  for (const { f, t } of history.workers.get(p) ?? []) {
    if (f === "paused") paused = Math.min(paused, t);
    else goesOn(t);
  }
  goesOn(to);
  return delay;
}

/**
 * The longest time from `from` to `to` for which a worker ran without a pause. The time to catch up after a pause does
 * not count, even if the pause ended before `from`. A worker that was killed while it stood still ran until it was
 * stopped.
 */
export function ranFor(history: History, p: string, from: Nanos, to: Nanos): Nanos {
  let since = from;
  let longest = 0;
  for (const { f, t } of history.workers.get(p) ?? []) {
    if (f === "paused") {
      longest = Math.max(longest, Math.min(t, to) - since);
      since = Number.POSITIVE_INFINITY;
    } else if (f === "resumed") since = Math.max(from, t + catchUpNs);
  }
  return Math.max(longest, to - since);
}

/** When a worker died; infinite if it lives. Its waits are judged up to its death. */
export function diedAt(history: History, p: string): Nanos {
  const end = history.workers.get(p)?.find(({ f }) => f === "killed" || f === "exit");
  return end?.t ?? Number.POSITIVE_INFINITY;
}

/**
 * The moment within a stretch from which a fault let nothing pass on a worker's link. `to` if there was no such fault.
 */
export function cutOffFrom(history: History, p: string, from: Nanos, to: Nanos): Nanos {
  const cut = history.faults.find(
    (fault) =>
      /^link\.(stall|hole|refuse)/.test(fault.name) &&
      p.startsWith(`${fault.target}#`) &&
      fault.from <= to &&
      fault.to >= from,
  );
  return cut === undefined ? to : Math.max(cut.from, from);
}

/** When the last fault was over; `null` if there was none. */
export function healedAt(history: History): Nanos | null {
  let at: Nanos | null = null;
  for (const { to } of history.faults) at = Math.max(at ?? 0, to);
  return at;
}

/** The end of the last fault that overlaps a stretch; `null` if none does. */
export function faultWithin(history: History, from: Nanos, to: Nanos): Nanos | null {
  let end: Nanos | null = null;
  for (const fault of history.faults) {
    if (fault.from > to) break;
    if (fault.to >= from) end = Math.max(end ?? 0, fault.to);
  }
  return end;
}
