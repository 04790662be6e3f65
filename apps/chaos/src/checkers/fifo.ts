import type { History, KeyHistory, Operation } from "../history/history.js";
import type { Nanos } from "../history/record.js";
import { Examples, seconds } from "./examples.js";
import { isExclusive } from "./kinds.js";
import type { CheckOptions } from "./options.js";
import type { CheckResult } from "./verdict.js";
import { cutOffFrom, diedAt, pausedWithin } from "./workers.js";

/**
 * Looks for overtakes: client B asked after waiter A was seen in the queue, and B was granted while A still waited.
 * Fair keys must have none. At other keys overtakes are counted, and judged if the scenario sets a bound. Needs
 * snapshots of the queue.
 */
export function fifo(history: History, options: CheckOptions): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let overtakes = 0;
  for (const about of history.keys.values()) {
    if (!isExclusive(about) || about.snapshots.length === 0) continue;
    const fair = about.meta.fair === true || about.meta.kind === "fair";
    const bound = fair ? 0 : (options.overtakes ?? Number.POSITIVE_INFINITY);
    const nested = nestedGrants(about);
    const grants = about.operations.filter(
      (done) => done.acquires && done.outcome === "ok" && !nested.has(done.end),
    );
    for (const [waiter, since] of seenQueued(about)) {
      if (nested.has(waiter.end)) continue;
      judged += 1;
      const { p, invokedAt, endedAt } = waiter;
      const died = diedAt(history, p) <= endedAt;
      if (leftTheQueue(about, waiter) || died || pausedWithin(history, p, invokedAt, endedAt)) continue;
      // A waiter whose server receives nothing from it loses its turn, and perhaps its place.
      const heardUntil = cutOffFrom(history, waiter.p, since, history.endedAt);
      const before = overtakersOf(waiter, since, grants, Math.min(heardUntil, history.endedAt));
      overtakes += before.length;
      const [first] = before;
      if (first === undefined || before.length <= bound) continue;
      examples.add(
        [waiter.invoke, first.invoke, first.end, waiter.end],
        () =>
          `${about.key}: ${first.p} asked at ${seconds(first.invokedAt)} and was granted at ${seconds(first.endedAt)}, ` +
          `though ${waiter.p} had stood in the queue since ${seconds(since)} (${before.length} such)`,
      );
    }
  }
  return examples.result("fifo", { judged, what: "waiters seen in a queue", metrics: { overtakes } });
}

/** Grants, by the `i` of their records, to an owner within its own hold. The owner stands in no queue for them. */
function nestedGrants({ holds }: KeyHistory): Set<number> {
  const nested = new Set<number>();
  const until = new Map<string, Nanos>();
  for (const { nests, owner, grant, from, to } of holds) {
    if (!nests) continue;
    const outer = until.get(owner) ?? 0;
    if (from < outer) nested.add(grant);
    until.set(owner, Math.max(outer, to));
  }
  return nested;
}

function seenQueued(about: KeyHistory): Map<Operation, Nanos> {
  const names = new Map<string, Operation>();
  for (const asked of about.operations) if (asked.acquires) names.set(`${asked.p}:${asked.op}`, asked);
  const seen = new Map<Operation, Nanos>();
  for (const { t, state } of about.snapshots) {
    for (const entry of state.queue) {
      const waiter = names.get(entry);
      if (waiter !== undefined && !seen.has(waiter) && t < waiter.endedAt) seen.set(waiter, t);
    }
  }
  return seen;
}

/** Whether the waiter lost its session: it then stands at the end again, and clients behind it may now go first. */
const leftTheQueue = (about: KeyHistory, waiter: Operation): boolean =>
  about.events.some(
    ({ f, p, t }) => f === "requeued" && p === waiter.p && t >= waiter.invokedAt && t <= waiter.endedAt,
  );

function overtakersOf(
  waiter: Operation,
  since: Nanos,
  grants: readonly Operation[],
  end: Nanos,
): Operation[] {
  // A waiter that gave up or died may have left the queue long before its record. Only a grant proves that it stayed to the end.
  const served = waiter.outcome === "ok" ? waiter.endedAt : waiter.outcome === "open" ? end : since;
  const until = Math.min(served, end);
  const before: Operation[] = [];
  for (let at = firstAfter(grants, since); at < grants.length; at++) {
    const grant = grants[at] as Operation;
    if (grant.invokedAt >= until) break;
    if (grant !== waiter && grant.endedAt < until) before.push(grant);
  }
  return before;
}

function firstAfter(grants: readonly Operation[], t: Nanos): number {
  let [low, high] = [0, grants.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((grants[middle] as Operation).invokedAt <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}
