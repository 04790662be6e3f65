import type { Verdict } from "../checkers/verdict.js";
import type { ScenarioOutcome } from "../engine/outcome.js";
import { tooLittle } from "./words.js";

const words: Readonly<Record<Verdict, string>> = {
  pass: "held",
  violation: "convicted",
  unknown: "nothing to judge",
};

/**
 * What was judged of a client that took the place of the scenario's own, and what was not judged and why. Empty for
 * other runs.
 */
export function verdictLines(outcome: ScenarioOutcome): string[] {
  const {
    scenario: { subject },
    results,
  } = outcome;
  if (subject === undefined) return [];
  const lines: string[] = [];
  const spoken = tooLittle(outcome) ? { ...words, pass: "nothing was shown" } : words;
  for (const [verdict, word] of Object.entries(spoken)) {
    const names = results
      .filter((result) => result.verdict === verdict && result.checker !== "stats")
      .map(({ checker }) => checker);
    if (names.length > 0) lines.push(`${word}: ${names.join(", ")}`);
  }
  if (subject.cannot !== undefined) return lines;
  const reasons = new Map<string, string[]>();
  for (const [checker, why] of Object.entries(subject.notJudged))
    reasons.set(why, [...(reasons.get(why) ?? []), checker]);
  for (const [why, names] of reasons) lines.push(`not judged: ${names.join(", ")} (${why})`);
  return lines;
}
