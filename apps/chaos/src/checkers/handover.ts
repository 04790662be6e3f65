import type { History, KeyHistory, Operation } from "../history/history.js";
import type { Nanos } from "../history/record.js";
import { Examples, millis, seconds } from "./examples.js";
import type { CheckOptions } from "./options.js";
import { believed, outermost } from "./spans.js";
import { undisturbed } from "./undisturbed.js";
import type { CheckResult } from "./verdict.js";
import { diedAt, pausedWithin } from "./workers.js";

/** By this time a dead holder's lease or session is over. */
export const defaultHandoverLimitMs = (leaseMs: number): number => 2 * leaseMs + 1_000;

/**
 * The longest rest between two waits that still count as one stretch. A contender that was not granted rests for at
 * most so long. Each wait may be shorter than the limit, but together they show a lock that serves no client any more.
 */
const restNs = 150e6;

/**
 * Measures the time from a release to the next grant. If a lock is free for longer than the limit while a client waits,
 * or one client after the other, a wake-up was lost. Time that a fault disturbed does not count, unless `excuses` is
 * false: a server that is down can grant nothing. Time in which an ensemble has a majority up counts.
 */
export function handover(history: History, options: CheckOptions): CheckResult {
  const examples = new Examples();
  const times: number[] = [];
  for (const about of history.keys.values()) {
    if (about.meta.kind === "latch") continue;
    const limitNs = (options.handoverLimitMs ?? defaultHandoverLimitMs(about.meta.leaseMs)) * 1e6;
    const waiters = about.operations.filter(({ f }) => f === "acquire");
    const judgeGap = (from: Nanos, to: Nanos, ends: number, next: number): void => {
      const leaseNs = about.meta.leaseMs * 1e6;
      const stuck = waiting(history, waiters, {
        from,
        to,
        limitNs,
        leaseNs,
        excuses: options.excuses !== false,
      });
      if (stuck === null) return;
      examples.add(
        [ends, stuck.first.invoke, next],
        () =>
          `${about.key}: free from ${seconds(from)} to ${seconds(to)}, and ${stuck.first.p} ${stuck.others ? "and others " : ""}waited for it for ${millis(stuck.forNs)}`,
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

/** A stretch in which no client had the lock. */
interface Gap {
  readonly from: Nanos;
  readonly to: Nanos;
  readonly limitNs: number;
  readonly leaseNs: number;
  readonly excuses: boolean;
}

/**
 * Finds the first waits in a gap that could have been granted and were not, with the undisturbed part of their time.
 */
function waiting(history: History, waiters: KeyHistory["operations"], gap: Gap): Stuck | null {
  const { limitNs, leaseNs, excuses } = gap;
  for (const { since, until, ...waits } of waitsWithin(history, waiters, gap)) {
    if (until - since <= limitNs) continue;
    const forNs = excuses ? undisturbed(history, since, until, leaseNs) : until - since;
    if (forNs > limitNs) return { ...waits, forNs };
  }
  return null;
}

interface Stuck extends Pick<Waits, "first" | "others"> {
  readonly forNs: number;
}

/** A stretch in which one client after the other waited, or several together. */
interface Waits {
  readonly first: Operation;
  readonly since: Nanos;
  until: Nanos;
  others: boolean;
}

/** The waits in a gap. A wait during which its worker stood still does not count. */
function waitsWithin(history: History, waiters: KeyHistory["operations"], { from, to }: Gap): Waits[] {
  const all: Waits[] = [];
  let last: Waits | null = null;
  for (const waiter of waiters) {
    if (waiter.invokedAt > to) break;
    const since = Math.max(from, waiter.invokedAt);
    const until = Math.min(to, waiter.endedAt, diedAt(history, waiter.p));
    if (until <= since || pausedWithin(history, waiter.p, since, until)) continue;
    // An acquire whose end is not known may have been granted, and then no other acquire is granted for a lease. So it
    // is judged alone.
    const unknown = waiter.outcome === "info";
    if (last !== null && !unknown && since - last.until <= restNs) {
      last.until = Math.max(last.until, until);
      last.others = true;
      continue;
    }
    const waits: Waits = { first: waiter, since, until, others: false };
    all.push(waits);
    last = unknown ? null : waits;
  }
  return all;
}
