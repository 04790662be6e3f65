import type { CheckerName } from "../checkers/judge.js";
import type { CheckResult } from "../checkers/verdict.js";
import type { OutcomeKind } from "./outcome.js";
import type { Expectation } from "./scenario.js";

export interface Decision {
  readonly outcome: Extract<OutcomeKind, "as-expected" | "violation" | "not-demonstrated" | "unknown">;
  readonly why: string;
  readonly unexpected: readonly CheckerName[];
}

/**
 * Compares the verdicts with the expectations. An unexpected conviction by any checker counts first, then a run in
 * which too little happened, and then a violation that should have been shown and was not.
 *
 * `disorder`: signs, in the servers' own words, that the servers were not in order among themselves. A conviction then
 * proves nothing about the client.
 */
export function decide(
  expect: Expectation,
  results: readonly CheckResult[],
  failures: readonly string[] = [],
  disorder: readonly string[] = [],
): Decision {
  const verdicts = new Map(results.map((result) => [result.checker, result]));
  const [odds] = disorder;
  const shown = new Set<string>(expect.violation);
  // A conviction that is only reported changes no outcome, unless the servers may have done it: then it is set aside as well.
  const reported = new Set<string>(odds === undefined ? expect.report : []);
  const convicted = results.filter(
    ({ checker, verdict }) => verdict === "violation" && !shown.has(checker) && !reported.has(checker),
  );
  const figures = [...figuresOf(expect, verdicts)];
  const above = figures.filter(({ how }) => how === "above");
  if (convicted.length > 0 || above.length > 0) {
    const why = convicted[0] === undefined ? (above[0]?.text ?? "") : textOf(convicted[0]);
    return {
      outcome: odds === undefined ? "violation" : "unknown",
      why: odds === undefined ? why : `the servers may have done it (${odds}): ${why}`,
      unexpected: [...convicted, ...above].map(({ checker }) => checker as CheckerName),
    };
  }
  const [failure] = failures;
  if (failure !== undefined) return { outcome: "unknown", why: failure, unexpected: ["stats"] };
  const unknown = expect.pass.filter((name) => {
    const verdict = verdicts.get(name)?.verdict;
    return verdict === undefined || verdict === "unknown";
  });
  if (unknown.length > 0) {
    const [first] = unknown;
    const result = verdicts.get(first ?? "");
    const why = result === undefined ? `${first} did not judge` : textOf(result);
    return { outcome: "unknown", why, unexpected: unknown };
  }
  const missing = (expect.violation ?? []).filter((name) => verdicts.get(name)?.verdict !== "violation");
  const [few] = figures;
  if (missing.length > 0 || few !== undefined) {
    const [first] = missing;
    return {
      outcome: "not-demonstrated",
      why: first === undefined ? (few?.text ?? "") : `${first} convicted nothing, though it should`,
      unexpected: [...missing, ...figures.map(({ checker }) => checker as CheckerName)],
    };
  }
  return {
    outcome: "as-expected",
    why: shown.size === 0 ? `${expect.pass.length} checkers passed` : `shown: ${[...shown].join(", ")}`,
    unexpected: [],
  };
}

function* figuresOf(
  expect: Expectation,
  verdicts: ReadonlyMap<string, CheckResult>,
): Iterable<{ checker: string; how: "below" | "above"; text: string }> {
  for (const [figure, { least, most }] of Object.entries(expect.figures ?? {})) {
    const at = figure.indexOf(".");
    const checker = figure.slice(0, at);
    const value = verdicts.get(checker)?.metrics[figure.slice(at + 1)];
    if (value !== undefined && most !== undefined && value > most) {
      yield { checker, how: "above", text: `${figure} is ${value}, at most ${most} was promised` };
    } else if (least !== undefined && (value === undefined || value < least)) {
      yield {
        checker,
        how: "below",
        text: `${figure} is ${value ?? "not known"}, at least ${least} was to be shown`,
      };
    }
  }
}

const textOf = ({ checker, summary, examples }: CheckResult): string =>
  `${checker}: ${examples[0]?.text ?? summary}`;
