import type { History, KeyHistory } from "../history/history.js";
import type { Nanos } from "../history/record.js";
import { Examples, seconds } from "./examples.js";
import type { CheckResult } from "./verdict.js";

/** Checks that no worker passes a latch before enough countdowns were asked for. */
export function latch(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  for (const { key, meta, operations } of history.keys.values()) {
    if (meta.kind !== "latch") continue;
    const needed = meta.count ?? 1;
    // Operations are in the order of their invocations. A countdown that certainly failed counted nothing down.
    const counted = operations.filter(({ f, outcome }) => f === "count-down" && outcome !== "fail");
    const opens = counted[needed - 1]?.invokedAt ?? Number.POSITIVE_INFINITY;
    for (const done of operations) {
      if (done.f !== "await" || done.outcome !== "ok") continue;
      judged += 1;
      if (needed === 0 || done.endedAt >= opens) continue;
      const soFar = counted.filter(({ invokedAt }) => invokedAt <= done.endedAt).length;
      examples.add(
        [done.invoke, done.end],
        () =>
          `${key}: ${done.p} passed at ${seconds(done.endedAt)} when ${soFar} of ${needed} countdowns had been asked for`,
      );
    }
  }
  return examples.result("latch", { judged, what: "passes" });
}

/** The time from which enough countdowns had succeeded; infinite if there were never enough. */
export function openedAt({ meta, operations }: KeyHistory): Nanos {
  const needed = meta.count ?? 1;
  const counted = operations.filter(({ f, outcome }) => f === "count-down" && outcome === "ok");
  const ends = counted.map(({ endedAt }) => endedAt).sort((a, b) => a - b);
  return needed === 0 ? 0 : (ends[needed - 1] ?? Number.POSITIVE_INFINITY);
}
