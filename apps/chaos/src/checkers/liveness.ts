import type { History } from "../history/history.js";
import { Examples, millis, seconds } from "./examples.js";
import { hasWriters } from "./kinds.js";
import type { CheckOptions } from "./options.js";
import type { CheckResult } from "./verdict.js";
import { diedAt, faultWithin, healedAt, pausedWithin } from "./workers.js";

/** After the last fault: every key is granted to two clients in time, or as many as `healClients` says, and every waiter, release and downgrade comes to an end. */
export function healLiveness(history: History, options: CheckOptions): CheckResult {
  const examples = new Examples();
  const limitNs = (options.healLimitMs ?? 10_000) * 1e6;
  const healed = healedAt(history) ?? 0;
  const watchedLongEnough = history.endedAt - healed >= limitNs;
  let judged = 0;
  let undecided = 0;
  let slowest = 0;
  for (const about of history.keys.values()) {
    const { key, meta, holds, operations } = about;
    // A client that has it for longer than the limit rightly keeps all others out; a reader keeps out writers alone.
    const longHolds = hasWriters(about)
      ? holds.filter(
          ({ mode, from, to }) => mode === "write" && Math.min(to, history.endedAt) - from >= limitNs,
        )
      : [];
    for (const asked of operations) {
      const { f } = asked;
      const ends = asked.acquires || f === "release" || f === "downgrade";
      if (!ends || asked.outcome !== "open") continue;
      const died = diedAt(history, asked.p);
      const since = Math.max(asked.invokedAt, healed);
      const until = Math.min(history.endedAt, died);
      const waitedNs = until - since;
      const keptOut = asked.acquires ? longHolds : [];
      const behindNs = keptOut.reduce(
        (sum, { from, to }) => sum + Math.max(0, Math.min(to, until) - Math.max(from, since)),
        0,
      );
      if (waitedNs < limitNs) undecided += asked.acquires && died >= history.endedAt ? 1 : 0;
      else if (waitedNs - behindNs >= limitNs) {
        const what = asked.acquires ? "" : ` for a ${f}`;
        examples.add(
          [asked.invoke],
          () => `${key}: ${asked.p} asked${what} at ${seconds(asked.invokedAt)} and never got an end`,
        );
      }
    }
    if (meta.kind === "latch") continue;
    if (history.faults.length === 0) {
      judged += holds.length;
      continue;
    }
    const clients = new Map<string, number>();
    for (const { p, from } of holds) if (from >= healed && !clients.has(p)) clients.set(p, from);
    const served = [...clients.values()].sort((a, b) => a - b);
    const last = served[(options.healClients ?? 2) - 1];
    if (last !== undefined && last - healed <= limitNs) {
      judged += 1;
      slowest = Math.max(slowest, last - healed);
    } else if (last === undefined && !watchedLongEnough) undecided += 1;
    else if (longHolds.some(({ from, to }) => from <= healed + limitNs && to > healed + limitNs)) judged += 1;
    else {
      examples.add(
        [history.faults.at(-1)?.begin.i ?? -1],
        () =>
          `${key}: granted to ${served.filter((at) => at - healed <= limitNs).length} clients within ${millis(limitNs)} of the last fault's end at ${seconds(healed)}`,
      );
    }
  }
  const result = examples.result("heal-liveness", {
    judged,
    what: "keys granted after the last fault",
    metrics: { undecided, slowestMs: Math.round(slowest / 1e6) },
  });
  if (result.verdict !== "pass" || undecided === 0) return result;
  return {
    ...result,
    verdict: "unknown",
    summary: `the run ended too early to tell of ${undecided} keys or waiters`,
  };
}

/** An acquire with a limit returns when that is over: a little later on a loaded machine, a lease later in a fault. */
export function boundedWait(history: History, options: CheckOptions): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let latest = 0;
  for (const { key, meta, operations } of history.keys.values()) {
    for (const asked of operations) {
      if (!asked.acquires || asked.waitMs < 0) continue;
      const until = Math.min(asked.endedAt, history.endedAt, diedAt(history, asked.p));
      const lateNs = until - asked.invokedAt - asked.waitMs * 1e6;
      judged += 1;
      latest = Math.max(latest, lateNs);
      const plain = options.lateMs ?? 250;
      if (lateNs <= plain * 1e6) continue;
      const faulty = faultWithin(history, asked.invokedAt, until) !== null;
      if (lateNs <= (plain + (faulty ? meta.leaseMs : 0)) * 1e6) continue;
      if (pausedWithin(history, asked.p, asked.invokedAt, until)) continue;
      examples.add(
        [asked.invoke, asked.end],
        () => `${key}: ${asked.p} was to wait ${asked.waitMs} ms and returned ${millis(lateNs)} late`,
      );
    }
  }
  return examples.result("bounded-wait", {
    judged,
    what: "limited waits",
    metrics: { latestMs: Math.round(latest / 1e6) },
  });
}
