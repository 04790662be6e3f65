import type { History, Hold, Operation } from "../history/history.js";
import type { OperationName } from "../history/record.js";
import { Examples, millis, seconds } from "./examples.js";
import { hasWriters } from "./kinds.js";
import { openedAt } from "./latch.js";
import type { CheckOptions } from "./options.js";
import type { CheckResult } from "./verdict.js";
import { delayOf, diedAt, faultWithin, healedAt } from "./workers.js";

/** The operations that have to come to an end, and how a conviction names them. */
const ending: Readonly<Partial<Record<OperationName, string>>> = {
  acquire: "",
  "try-acquire": "",
  release: " for a release",
  downgrade: " for a downgrade",
  await: " to pass",
};

/** A write hold keeps all others out; a read hold keeps only writers out. */
const keepsOut = (hold: Hold, asked: Operation): boolean => hold.mode === "write" || asked.mode === "write";

/**
 * Checks the time after the last fault. Every key must be granted in time to two clients (or `healClients`), if as many
 * ask for it. Every waiter (at a latch: once it is open), release and downgrade must come to an end.
 */
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
    // A client that holds for longer than the limit rightly keeps others out.
    const longHolds = hasWriters(about)
      ? holds.filter(({ from, to }) => Math.min(to, history.endedAt) - from >= limitNs)
      : [];
    for (const asked of operations) {
      const what = ending[asked.f];
      if (what === undefined || asked.outcome !== "open") continue;
      const died = diedAt(history, asked.p);
      const since = Math.max(asked.invokedAt, healed, asked.f === "await" ? openedAt(about) : 0);
      const until = Math.min(history.endedAt, died);
      const waitedNs = until - since;
      const keptOut = asked.acquires ? longHolds.filter((hold) => keepsOut(hold, asked)) : [];
      let behindNs = 0;
      let at = since;
      // Readers may hold together. Time in which several of them keep the waiter out counts once.
      for (const { from, to } of keptOut) {
        const end = Math.min(to, until);
        behindNs += Math.max(0, end - Math.max(from, at));
        at = Math.max(at, end);
      }
      if (waitedNs < limitNs) undecided += asked.acquires && died >= history.endedAt ? 1 : 0;
      else if (waitedNs - behindNs >= limitNs) {
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
    const limitAt = healed + limitNs;
    const clients = new Map<string, number>();
    for (const { p, from } of holds) if (from >= healed && !clients.has(p)) clients.set(p, from);
    const asking = operations.filter(
      ({ acquires, p, invokedAt, endedAt }) =>
        acquires && invokedAt <= limitAt && Math.min(endedAt, diedAt(history, p)) >= healed,
    );
    const unserved = asking.filter(({ outcome, endedAt }) => outcome !== "ok" || endedAt > limitAt);
    const keepsAll = (hold: Hold): boolean =>
      hold.from <= limitAt && hold.to > limitAt && unserved.every((asked) => keepsOut(hold, asked));
    // A key for which only one client asks cannot be granted to a second one. If the run ended early, other clients
    // might still have asked.
    const askers = new Set([...clients.keys(), ...asking.map(({ p }) => p)]);
    const most = options.healClients ?? 2;
    const wanted = watchedLongEnough ? Math.min(most, askers.size) : most;
    const served = [...clients.values()].sort((a, b) => a - b);
    const last = served[wanted - 1];
    if (last !== undefined && last <= limitAt) {
      judged += 1;
      slowest = Math.max(slowest, last - healed);
    } else if (wanted === 0 || (last === undefined && !watchedLongEnough)) undecided += 1;
    else if (longHolds.some(keepsAll)) judged += 1;
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

/**
 * Checks that an acquire with a limit returns when the limit is over. It may be a little late on a loaded machine and a
 * lease later during a fault. It may also be later by the time for which its worker stood still.
 */
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
      const delayNs = delayOf(history, asked.p, asked.invokedAt, until);
      if (lateNs <= (plain + (faulty ? meta.leaseMs : 0)) * 1e6 + delayNs) continue;
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
