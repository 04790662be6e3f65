import type { History, KeyHistory, Operation } from "../history/history.js";
import type { Nanos } from "../history/record.js";
import { Examples, millis, seconds } from "./examples.js";
import { isExclusive } from "./kinds.js";
import type { CheckOptions } from "./options.js";
import { believed, outermost } from "./spans.js";
import type { CheckResult } from "./verdict.js";
import { faultWithin, pausedWithin } from "./workers.js";

/**
 * Release to next grant. A waiter beside a free lock for longer than the limit is a lost wake-up. Time in which a fault
 * was on does not count: no client can be granted by a server that is down.
 */
export function handover(history: History, options: CheckOptions): CheckResult {
  const examples = new Examples();
  const times: number[] = [];
  for (const about of history.keys.values()) {
    if (!isExclusive(about)) continue;
    const limitNs = (options.handoverLimitMs ?? 2 * about.meta.leaseMs + 1_000) * 1e6;
    const waiters = about.operations.filter(({ f }) => f === "acquire");
    const judgeGap = (from: Nanos, to: Nanos, ends: number, next: number): void => {
      const stuck = waiting(history, waiters, from, to, limitNs);
      if (stuck === null) return;
      examples.add(
        [ends, stuck.waiter.invoke, next],
        () =>
          `${about.key}: free from ${seconds(from)} to ${seconds(to)}, and ${stuck.waiter.p} waited for it for ${millis(stuck.forNs)}`,
      );
    };
    let freeFrom = 0;
    let ends = -1;
    for (const span of outermost(believed(about))) {
      const { invokedAt } = span.hold;
      if (span.from >= freeFrom) {
        if (ends >= 0 && invokedAt < freeFrom) times.push(span.from - freeFrom);
        if (span.from - freeFrom > limitNs) judgeGap(freeFrom, span.from, ends, span.hold.grant);
      }
      if (span.to > freeFrom) {
        freeFrom = span.to;
        ends = span.hold.end;
      }
    }
    if (history.endedAt - freeFrom > limitNs) judgeGap(freeFrom, history.endedAt, ends, -1);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((times[Math.floor((times.length - 1) * share)] ?? 0) / 1e3) / 1e3;
  return examples.result("handover", {
    judged: times.length,
    what: "hand-overs",
    metrics: { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) },
  });
}

/** A waiter that could have been granted and was not, with the time without faults that it stood there. */
function waiting(
  history: History,
  waiters: KeyHistory["operations"],
  from: Nanos,
  to: Nanos,
  limitNs: number,
): { waiter: Operation; forNs: number } | null {
  for (const waiter of waiters) {
    if (waiter.invokedAt > to) break;
    const until = Math.min(to, waiter.endedAt);
    let since = Math.max(from, waiter.invokedAt);
    if (until - since <= limitNs) continue;
    since = Math.max(since, faultWithin(history, since, until) ?? 0);
    if (until - since <= limitNs || pausedWithin(history, waiter.p, since, until)) continue;
    return { waiter, forNs: until - since };
  }
  return null;
}
