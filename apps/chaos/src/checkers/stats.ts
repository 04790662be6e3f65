import { type History, isMiss, type KeyHistory } from "../history/history.js";
import { isExclusive } from "./kinds.js";
import type { CheckOptions } from "./options.js";
import type { CheckResult } from "./verdict.js";

/** Whether enough happened for the other verdicts to mean something. Never convicts: too little is `unknown`. */
export function stats(history: History, options: CheckOptions): CheckResult {
  const missing: string[] = [];
  const minGrants = options.minGrants ?? 20;
  let operations = 0;
  let grants = 0;
  let kept = 0;
  const granted: number[] = [];
  const asked = new Map<string, number>();
  for (const about of history.keys.values()) {
    operations += about.operations.length;
    grants += about.holds.length;
    for (const { from } of about.holds) granted.push(from);
    for (const done of about.operations) {
      asked.set(done.f, (asked.get(done.f) ?? 0) + (done.outcome === "ok" ? 1 : 0));
      if (done.kept) kept += 1;
    }
    if (about.meta.kind === "latch") continue;
    if (about.holds.length < minGrants)
      missing.push(`${about.key} has ${about.holds.length} of ${minGrants} grants`);
    // With one asking client, no second one can be granted.
    const askers = workersOf(about.operations.filter(({ acquires }) => acquires));
    const holders = workersOf(about.holds);
    if (askers.size > 1 && holders.size === 1)
      missing.push(
        `${about.key} was granted to ${[...holders][0]} alone, of ${askers.size} that asked for it`,
      );
    else if (isExclusive(about) && noneKeptOut(about, options.contended === true))
      missing.push(`no acquire of ${about.key} beside another worker's hold was granted or refused`);
  }
  if (operations === 0) missing.push("no client asked for anything");
  for (const [f, ok] of asked) if (ok === 0) missing.push(`no ${f} came back well`);
  const faults = history.faults.filter(({ end }) => end === null || !isMiss(end));
  for (const fault of faults) {
    if (!fault.evident) missing.push(`nothing shows that ${fault.name} ${fault.target} really happened`);
  }
  const happened = new Set(faults.map(({ name }) => name));
  for (const name of options.planned ?? []) if (!happened.has(name)) missing.push(`${name} did not happen`);
  const lastedS = history.endedAt / 1e9;
  return {
    checker: "stats",
    verdict: missing.length === 0 ? "pass" : "unknown",
    summary:
      missing.length === 0
        ? `${operations} operations, ${grants} grants, ${faults.length} faults`
        : missing.slice(0, 5).join("; "),
    examples: missing.slice(0, 20).map((text) => ({ records: [], text })),
    metrics: {
      operations,
      grants,
      kept,
      faults: faults.length,
      records: history.records,
      seconds: Math.round(lastedS * 1e3) / 1e3,
      longestGapMs: longestGap(granted),
      grantsPerSecond: lastedS > 0 ? Math.round((grants / lastedS) * 10) / 10 : 0,
    },
  };
}

/**
 * Whether workers asked for the lock while others held it, and none of them was granted or refused. Perhaps they could
 * not use the lock at all, and then nothing shows that it kept them out. `contended`: the same if none of them asked.
 */
function noneKeptOut({ holds, operations }: KeyHistory, contended: boolean): boolean {
  let met = contended;
  // Both lists are in the order of time. No later acquire meets a hold before this one.
  let first = 0;
  for (const { acquires, p, invokedAt, endedAt, outcome } of operations) {
    if (!acquires) continue;
    let hold = holds[first];
    while (hold !== undefined && hold.to <= invokedAt) hold = holds[++first];
    for (let at = first; hold !== undefined && hold.from < endedAt; hold = holds[++at]) {
      if (hold.to <= invokedAt || workerOf(hold) === workerOf({ p })) continue;
      if (outcome === "ok" || outcome === "fail") return false;
      met = true;
      break;
    }
  }
  return met;
}

/** The name of the worker, without the number of the incarnation. */
const workerOf = ({ p }: { readonly p: string }): string => p.replace(/#\d+$/, "");

const workersOf = (records: readonly { readonly p: string }[]): ReadonlySet<string> =>
  new Set(records.map(workerOf));

/** The longest time between two grants of any keys, in which no worker got anything. In milliseconds. */
function longestGap(granted: number[]): number {
  granted.sort((a, b) => a - b);
  let longest = 0;
  for (let at = 1; at < granted.length; at++) {
    longest = Math.max(longest, (granted[at] ?? 0) - (granted[at - 1] ?? 0));
  }
  return Math.round(longest / 1e6);
}
