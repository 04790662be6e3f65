import type { History, KeyHistory, Operation } from "../history/history.js";
import { Examples, seconds } from "./examples.js";
import type { CheckResult } from "./verdict.js";

/**
 * Checks that a refusal has a reason: at some moment of the try another worker possibly had the lock, kept it, or stood
 * in its queue. Convicts in runs without faults; in other runs it only counts.
 */
export function refusals(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let asked = 0;
  let spurious = 0;
  for (const about of history.keys.values()) {
    if (about.meta.kind === "latch") continue;
    asked += about.operations.length;
    if (!about.operations.some(({ f, outcome }) => f === "try-acquire" && outcome === "fail")) continue;
    const overs = possiblyUntil(about);
    const attempts = about.operations.filter(({ acquires }) => acquires);
    // The latest end of all possible holds that were asked for so far.
    let latest = Number.NEGATIVE_INFINITY;
    attempts.forEach((attempt, at) => {
      if (attempt.f === "try-acquire" && attempt.outcome === "fail") {
        judged += 1;
        const before = latest >= attempt.invokedAt;
        const next = attempts[at + 1];
        const within = next !== undefined && next.invokedAt <= attempt.endedAt;
        if (!before && !within) {
          spurious += 1;
          if (history.faults.length === 0) {
            examples.add(
              [attempt.invoke, attempt.end],
              () =>
                `${about.key}: ${attempt.p} was refused at ${seconds(attempt.endedAt)} while no client could have it`,
            );
          }
        }
      }
      latest = Math.max(latest, overs.get(attempt) ?? attempt.endedAt);
    });
  }
  const result = examples.result("refusals", { judged, what: "refusals", metrics: { spurious } });
  // If locks were asked for and none was refused, no refusal lacks a reason.
  return judged > 0 || asked === 0
    ? result
    : { ...result, verdict: "pass", summary: "no client was refused" };
}

/** The time until which each grant may have lasted. An acquire whose end is not known may last for ever. */
function possiblyUntil(about: KeyHistory): Map<Operation, number> {
  const untils = new Map<number, number>();
  const kept = new Set(about.operations.flatMap((done) => (done.kept ? [done.invoke] : [])));
  for (const hold of about.holds) {
    // After a kill or a loss the entry lives on for at most a lease. The same goes for a lock that its client kept for
    // its next owner.
    const lease = hold.cause === "release" && !kept.has(hold.end) ? 0 : about.meta.leaseMs * 1e6;
    // A downgraded read counts for the acquire of its write.
    const { grant } = hold.downgradedFrom ?? hold;
    untils.set(grant, Math.max(untils.get(grant) ?? 0, hold.surelyOverAt + lease));
  }
  const overs = new Map<Operation, number>();
  for (const done of about.operations) {
    if (!done.acquires) continue;
    const until = done.outcome === "ok" ? untils.get(done.end) : undefined;
    if (until !== undefined) overs.set(done, until);
    else if (done.outcome === "info") overs.set(done, Number.POSITIVE_INFINITY);
  }
  return overs;
}
