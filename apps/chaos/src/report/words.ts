import type { OutcomeKind, ScenarioOutcome } from "../engine/outcome.js";
import type { PlannedFault, Topology } from "../engine/scenario.js";

/** The names of the outcomes on the console and in tables: words that can be searched for. */
export const outcomeWords: Readonly<Record<OutcomeKind, string>> = {
  "as-expected": "ok",
  violation: "VIOLATION",
  "not-demonstrated": "NOT DEMONSTRATED",
  unknown: "UNKNOWN",
  skipped: "skipped",
  broken: "BROKEN",
};

/** The word for one outcome. A user's client of which nothing is expected is always called `judged`, whatever was found. */
export const wordOf = ({ outcome, scenario }: Pick<ScenarioOutcome, "outcome" | "scenario">): string =>
  outcome === "as-expected" && scenario.subject !== undefined && scenario.expect.pass.length === 0
    ? "judged"
    : outcomeWords[outcome];

/**
 * Whether too little happened, for example few grants, or a planned fault that did not come to pass. A checker that
 * passed has then shown nothing.
 */
export const tooLittle = ({
  unexpected,
  results,
}: Pick<ScenarioOutcome, "unexpected" | "results">): boolean =>
  unexpected.includes("stats") ||
  results.some(({ checker, verdict }) => checker === "stats" && verdict === "unknown");

/** The name of the JUnit suite: the family of servers that a scenario breaks. */
export function backendOf(topology: Topology): "zookeeper" | "redis" | "checkers" | "other" {
  if (topology.kind === "none") return "checkers";
  return topology.kind === "zookeeper" || topology.kind === "other" ? topology.kind : "redis";
}

/** A duration as text: `340 ms`, `12.3 s`, `4 min 05 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 99_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

export const plural = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

/** A fault of a plan as text: `7 zk.kill at leader, 12.3 s in, for 2.0 s`. */
export function faultText({ number, fault, target, atMs, forMs, after }: PlannedFault): string {
  const what = [number, fault, ...(target === undefined ? [] : ["at", target])].filter(
    (each) => each !== undefined,
  );
  const when = `${duration(atMs)} ${after === undefined ? "in" : `after ${after}`}`;
  return `${what.join(" ")}, ${when}${forMs === undefined ? "" : `, for ${duration(forMs)}`}`;
}

/** The checkers that had to convict and did. */
export function expectedConvictions({ scenario, results }: ScenarioOutcome): string[] {
  const wanted: readonly string[] = scenario.expect.violation ?? [];
  return results
    .filter(({ checker, verdict }) => verdict === "violation" && wanted.includes(checker))
    .map(({ checker }) => checker);
}
