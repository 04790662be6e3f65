import { historyOf, readHistory } from "../../history/read.js";
import { crossWgl } from "../cross-wgl.js";
import { checkerNames, judge } from "../judge.js";
import type { CheckResult, Verdict } from "../verdict.js";
import { type HandMade, handMadeHistories, neverGiven } from "./hand-made.js";
import { mutants } from "./mutants.js";
import { simulate } from "./simulated-recipe.js";

const seeds = [1];

/**
 * Tests the checkers. Every hand-made history must get the verdicts of its labels, and every checker must be seen to
 * give each verdict. The simulated recipe must pass with all its guards, and without any one of them the named checker
 * must convict it. Needs no server; takes about two seconds.
 */
export async function selfTest(): Promise<CheckResult> {
  const wrong: string[] = [];
  const histories = await handMadeHistories();
  for (const history of histories) wrong.push(...(await mislabelled(history)));
  wrong.push(...unseenVerdicts(histories), ...(await wrongSweepsMissed(histories)));
  for (const seed of seeds) wrong.push(...unguardedMissed(seed));
  const checks = histories.length * checkerNames.length + seeds.length * (mutants.length + 1);
  return {
    checker: "self-test",
    verdict: wrong.length === 0 ? "pass" : "violation",
    summary:
      wrong.length === 0
        ? `${histories.length} hand-made histories judged as labelled, ${mutants.length} mutants convicted`
        : `${wrong.length} x: ${wrong[0]}`,
    examples: wrong.slice(0, 20).map((text) => ({ records: [], text })),
    metrics: {
      judged: checks,
      violations: wrong.length,
      histories: histories.length,
      mutants: mutants.length,
    },
  };
}

/** The verdicts about a history that differ from its labels. */
export async function mislabelled({ name, path, options, verdicts, shows }: HandMade): Promise<string[]> {
  const wrong: string[] = [];
  for (const { checker, verdict, summary, examples } of judge(await readHistory(path), options)) {
    const known = checker as keyof typeof verdicts;
    const wanted = verdicts[known];
    if (verdict !== wanted)
      wrong.push(`${name}: ${checker} says ${verdict} and is labelled ${wanted}: ${summary}`);
    const words = shows[known];
    if (words !== undefined && !examples.some(({ text }) => text.includes(words)))
      wrong.push(`${name}: ${checker} does not show "${words}", but: ${summary}`);
  }
  return wrong;
}

/** The verdicts that no label asks for. A checker might be unable to give such a verdict. */
export function unseenVerdicts(histories: readonly HandMade[]): string[] {
  const wanted: readonly Verdict[] = ["pass", "violation", "unknown"];
  return checkerNames.flatMap((checker) =>
    wanted
      .filter((verdict) => neverGiven[checker] !== verdict)
      .filter((verdict) => !histories.some(({ verdicts }) => verdicts[checker] === verdict))
      .map((verdict) => `no hand-made history is labelled ${verdict} for ${checker}`),
  );
}

/** Checks that the cross-check convicts a sweep that finds everything legal, and a sweep that finds nothing legal. */
async function wrongSweepsMissed(histories: readonly HandMade[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const [says, verdict] of [
    [true, "violation"],
    [false, "pass"],
  ] as const) {
    for (const { name, path, verdicts } of histories) {
      if (verdicts.mutex !== verdict) continue;
      const judged = crossWgl(await readHistory(path), {}, () => says);
      if (judged.verdict !== "violation")
        wrong.push(
          `${name}: the cross-check believes a sweep that always says ${says ? "legal" : "illegal"}`,
        );
    }
  }
  return wrong;
}

function unguardedMissed(seed: number): string[] {
  const convicts = (...about: Parameters<typeof simulate>): string[] =>
    judge(historyOf(simulate(...about)))
      .filter(({ verdict }) => verdict === "violation")
      .map(({ checker }) => checker);
  const wrong = convicts(seed).map(
    (checker) => `the simulated recipe is convicted by ${checker}, seed ${seed}`,
  );
  for (const { without, convictedBy } of mutants) {
    if (!convicts(seed, without).includes(convictedBy))
      wrong.push(`the mutant without "${without}" is not convicted by ${convictedBy}, seed ${seed}`);
  }
  return wrong;
}
