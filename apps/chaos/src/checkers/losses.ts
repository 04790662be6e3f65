import type { History, Hold, KeyHistory, Operation } from "../history/history.js";
import type { Nanos } from "../history/record.js";
import { Examples, millis, seconds } from "./examples.js";
import { isSemaphore } from "./kinds.js";
import { limitAround } from "./limits.js";
import type { CheckOptions } from "./options.js";
import type { CheckResult } from "./verdict.js";
import { ranFor } from "./workers.js";

/**
 * For each lost hold: the time from its loss notice to the next grant that excludes it (another owner, a writer beside
 * a reader, or the same permits). A negative time means that two clients believed to hold at once.
 * With `tellsLoss` the client reports each loss. Then a holder that ran on for too long after such a grant without a
 * report counts as late too, however its hold ended.
 * The metric `judged` counts the notices. `lost` also counts the holds whose release was refused or that ended before the
 * notice. These convict no client, because a holder that has asked to release does not rely on its hold any more.
 */
export function lostNotice(history: History, options: CheckOptions): CheckResult {
  const examples = new Examples();
  const lateNs = (options.lostLateMs ?? 0) * 1e6;
  let judged = 0;
  let foundLate = 0;
  let looked = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (const about of history.keys.values()) {
    looked += about.holds.length;
    const refused = new Set(about.operations.filter(refusedRelease).map(({ invoke }) => invoke));
    about.holds.forEach((hold, at) => {
      if (hold.cause !== "lost") {
        if (hold.lost >= 0 || refused.has(hold.end)) foundLate += 1;
        if (options.tellsLoss !== true || isSemaphore(about)) return;
        const after = firstExcluded(about, at);
        // A hold without an end lasts until the end of the run.
        const until = Math.min(hold.to, history.endedAt);
        if (after === undefined || ranFor(history, hold.p, after.from, until) <= lateNs) return;
        examples.add(
          [hold.grant, after.grant, hold.end],
          () =>
            `${about.key}: ${hold.p} held on until ${seconds(until)} and was never told, ${millis(until - after.from)} after ${after.p} was granted`,
        );
        return;
      }
      judged += 1;
      const after = isSemaphore(about) ? firstBeyondLimit(about, at) : firstExcluded(about, at);
      if (after === undefined) return;
      const margin = after.from - hold.to;
      smallest = Math.min(smallest, margin);
      // A process that stands still cannot be notified sooner.
      if (margin >= -lateNs || ranFor(history, hold.p, after.from, hold.to) <= lateNs) return;
      examples.add(
        [hold.grant, after.grant, hold.lost],
        () =>
          `${about.key}: ${hold.p} heard at ${seconds(hold.to)} that it lost, ${millis(-margin)} after ${after.p} was granted`,
      );
    });
  }
  const margin = Number.isFinite(smallest) ? { smallestMarginMs: Math.round(smallest / 1e3) / 1e3 } : {};
  const metrics = { lost: judged + foundLate, ...margin };
  const result = examples.result("lost-notice", { judged, what: "notices of a loss", metrics });
  // A run with holds but without losses is evidence enough. A run without any hold is not.
  if (judged > 0 || looked === 0 || result.verdict === "violation") return result;
  const summary = foundLate === 0 ? "nothing was lost" : `${foundLate} losses, none before a release`;
  return { ...result, verdict: "pass", summary };
}

/** Whether it is a release that found the hold gone. */
const refusedRelease = ({ f, outcome }: Operation): boolean => f === "release" && outcome === "fail";

/** The first later grant that excludes a hold. If there are only writers, this is the next grant to another owner. */
function firstExcluded({ holds }: KeyHistory, at: number): Hold | undefined {
  const lost = holds[at] as Hold;
  for (let next = at + 1; next < holds.length; next++) {
    const other = holds[next] as Hold;
    if (other.owner !== lost.owner && (other.mode === "write" || lost.mode === "write")) return other;
  }
  return undefined;
}

/** The first later grant that was possible only without the permits of this hold. */
function firstBeyondLimit(about: KeyHistory, at: number): Hold | undefined {
  const { holds } = about;
  const lost = holds[at] as Hold;
  const others = holds.filter((hold) => hold !== lost && hold.to > lost.from);
  for (let next = at + 1; next < holds.length; next++) {
    const hold = holds[next] as Hold;
    const limit = limitAround(about, hold.invokedAt, hold.from);
    if (lost.permits + permitsAt(others, hold.from) > limit) return hold;
  }
  return undefined;
}

function permitsAt(holds: readonly Hold[], t: Nanos): number {
  let sum = 0;
  for (const { from, to, permits } of holds) {
    if (from > t) break;
    if (to > t) sum += permits;
  }
  return sum;
}

/** What dead owners left in the backend, as the observer saw it last. */
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
