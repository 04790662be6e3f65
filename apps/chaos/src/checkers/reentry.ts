import type { History } from "../history/history.js";
import { Examples } from "./examples.js";
import type { CheckResult } from "./verdict.js";

/** The count that a re-entrant lock reports is that of the owner's own acquires without its releases. */
export function reentry(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let deepest = 0;
  for (const about of history.keys.values()) {
    if (about.meta.kind !== "reentrant") continue;
    const counts = new Map<string, number>();
    const owners = new Map<string, string>();
    const lost = new Map<string, number>();
    const lostBy = (owner: string, t: number): void => {
      lost.set(owner, Math.min(t, lost.get(owner) ?? Number.POSITIVE_INFINITY));
    };
    for (const hold of about.holds) {
      owners.set(hold.id, hold.owner);
      if (hold.cause === "lost") lostBy(hold.owner, hold.to);
    }
    // A release that was refused has found nothing to give back.
    for (const { f, outcome, hold, endedAt } of about.operations) {
      const owner = owners.get(hold);
      if (f === "release" && outcome === "fail" && owner !== undefined) lostBy(owner, endedAt);
    }
    // The operations are read in the order of their ends: an owner does one thing at a time.
    for (const done of [...about.operations].sort((a, b) => a.endedAt - b.endedAt)) {
      const owner = owners.get(done.hold);
      if (owner === undefined || done.outcome !== "ok") continue;
      // What is counted of a hold that was lost in the middle is promised by no client.
      if (done.endedAt >= (lost.get(owner) ?? Number.POSITIVE_INFINITY)) continue;
      const change = done.acquires ? 1 : done.f === "release" ? -1 : 0;
      const count = (counts.get(owner) ?? 0) + change;
      counts.set(owner, count);
      if (change === 0) continue;
      judged += 1;
      deepest = Math.max(deepest, count);
      if (done.count >= 0 && done.count !== count) {
        examples.add(
          [done.invoke, done.end],
          () =>
            `${about.key}: ${done.f} of ${owner} reported count ${done.count}, its own books say ${count}`,
        );
      }
    }
  }
  return examples.result("reentry", { judged, what: "acquires and releases", metrics: { deepest } });
}
