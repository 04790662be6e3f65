import type { History } from "../history/history.js";
import { Examples, millis, seconds } from "./examples.js";
import { isExclusive } from "./kinds.js";
import type { CheckOptions } from "./options.js";
import type { CheckResult } from "./verdict.js";

/** How long before the next grant a holder heard that it lost. Below 0 two of them believed at the same time. */
export function lostNotice(history: History, options: CheckOptions): CheckResult {
  const examples = new Examples();
  const limitNs = -(options.lostLateMs ?? 0) * 1e6;
  let judged = 0;
  let looked = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (const about of history.keys.values()) {
    if (!isExclusive(about)) continue;
    looked += about.holds.length;
    about.holds.forEach((hold, at) => {
      if (hold.cause !== "lost") return;
      judged += 1;
      let next = at + 1;
      while (about.holds[next]?.owner === hold.owner) next += 1;
      const after = about.holds[next];
      if (after === undefined) return;
      const margin = after.from - hold.to;
      smallest = Math.min(smallest, margin);
      if (margin >= limitNs) return;
      examples.add(
        [hold.grant, after.grant, hold.lost],
        () =>
          `${about.key}: ${hold.p} heard at ${seconds(hold.to)} that it lost, ${millis(-margin)} after ${after.p} was granted`,
      );
    });
  }
  const margin = Number.isFinite(smallest) ? { smallestMarginMs: Math.round(smallest / 1e3) / 1e3 } : {};
  const metrics = { lost: judged, ...margin };
  const result = examples.result("lost-notice", { judged, what: "notices of a loss", metrics });
  // A run in which nothing was lost is no lack of evidence; one without any hold is.
  return judged > 0 || looked === 0 ? result : { ...result, verdict: "pass", summary: "nothing was lost" };
}

/** What dead owners left in the backend, by the last look of the observer. */
export function leaks(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let unseen = 0;
  for (const { key, snapshots } of history.keys.values()) {
    const scan = snapshots.findLast(({ state }) => state.left !== undefined);
    if (scan === undefined) {
      unseen += 1;
      continue;
    }
    judged += 1;
    for (const left of scan.state.left ?? [])
      examples.add([scan.i], () => `${key}: ${left} is left without an owner`);
  }
  const result = examples.result("leaks", { judged, what: "keys scanned", metrics: { unseen } });
  if (result.verdict !== "pass" || unseen === 0) return result;
  return { ...result, verdict: "unknown", summary: `${unseen} keys were not scanned at the end` };
}
