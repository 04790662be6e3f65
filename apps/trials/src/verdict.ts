import type { CheckerName, ScenarioOutcome } from "@holdfast/chaos";
import { type Charge, charges, type Fault } from "./faults.js";
import type { Result } from "./results.js";

/** Which checkers bring which charge. */
const checkers: Readonly<Record<Charge, readonly CheckerName[]>> = {
  damage: ["effect", "lost-update", "fence-effect"],
  "two holders": ["belief", "mutex"],
  tokens: ["fence-order"],
  "told late": ["lost-notice"],
  stuck: ["handover", "heal-liveness"],
};

/** What a run convicts its subject of, the worst first; nothing that the fault excuses. */
export function chargesOf(
  { results }: Pick<ScenarioOutcome, "results">,
  { excuses }: Pick<Fault, "excuses">,
): { charge: Charge; text: string }[] {
  return charges
    .filter((charge) => excuses[charge] === undefined)
    .flatMap((charge) => {
      const found = results.find(
        ({ checker, verdict }) =>
          verdict === "violation" && checkers[charge].includes(checker as CheckerName),
      );
      return found === undefined
        ? []
        : [{ charge, text: `${found.checker}: ${found.examples[0]?.text ?? found.summary}` }];
    });
}

/** Seeds of one cell, and in how many of them a conviction must be seen to count. */
export const seedsOfACell = 5;
const seenIn = 3;

export type CellVerdict = "kept" | "convicted" | "unknown" | "chance" | "open";

/**
 * What the runs of one cell say together. A first run without a conviction is all there is; a conviction is tried again
 * until it was seen in 3 of 5 seeds, or cannot be any more: then it was chance. `open`: more runs are needed.
 */
export function verdictOf(results: readonly Pick<Result, "verdict">[]): CellVerdict {
  const [first] = results;
  if (first === undefined) return "open";
  if (first.verdict !== "convicted") return first.verdict;
  const convicted = results.filter(({ verdict }) => verdict === "convicted").length;
  if (convicted >= seenIn) return "convicted";
  return results.length - convicted > seedsOfACell - seenIn ? "chance" : "open";
}
