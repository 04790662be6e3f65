import type { History } from "../history/history.js";
import { Examples } from "./examples.js";
import type { CheckResult } from "./verdict.js";

/**
 * Checks that the count that a re-entrant lock reports is the number of the owner's acquires minus its releases. No
 * client promises a certain count after a loss in the middle. Such an owner is judged again once it has given
 * everything back.
 */
export function reentry(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let deepest = 0;
  for (const about of history.keys.values()) {
    if (about.meta.kind !== "reentrant") continue;
    const counts = new Map<string, number>();
    const owners = new Map<string, string>();
    for (const { id, owner } of about.holds) owners.set(id, owner);
    const losses = about.holds.filter(({ cause }) => cause === "lost").sort((a, b) => a.to - b.to);
    const lost = new Set<string>();
    const refused = new Set<string>();
    let next = 0;
    // Read the operations in the order of their ends: an owner does one thing at a time.
    for (const done of [...about.operations].sort((a, b) => a.endedAt - b.endedAt)) {
      for (let loss = losses[next]; loss !== undefined && loss.to <= done.endedAt; loss = losses[++next])
        lost.add(loss.owner);
      const owner = owners.get(done.hold);
      // Releasing again after a refusal gives nothing more back.
      if (owner === undefined || refused.has(done.hold)) continue;
      if (done.f === "release" && done.outcome === "fail") {
        // The release found nothing to give back, so the hold was lost.
        refused.add(done.hold);
        lost.add(owner);
      } else if (done.outcome !== "ok") continue;
      const change = done.acquires ? 1 : done.f === "release" ? -1 : 0;
      if (change === 0) continue;
      const count = (counts.get(owner) ?? 0) + change;
      counts.set(owner, count);
      const wasLost = lost.has(owner);
      if (count === 0) lost.delete(owner);
      if (wasLost) continue;
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
