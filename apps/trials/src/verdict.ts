import type { CheckerName, ScenarioOutcome } from "@holdfast/chaos";
import { type Charge, charges, type Fault } from "./faults.js";
import type { Charged, Result } from "./results.js";

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
): Charged[] {
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

/** Seeds of one cell, and in how many of them a charge must be seen to count. */
const seedsOfACell = 5;
const seenIn = 3;
/** Runs that came to nothing, after which the cell counts as unknown. */
const inVain = 2;

export type CellVerdict = "kept" | "convicted" | "unknown" | "chance" | "open";

type Judged = Pick<Result, "verdict" | "charges">;

/** In how many runs a charge was seen. */
export const timesSeen = (results: readonly Judged[], charge: Charge): number =>
  results.filter((each) => each.charges.some((one) => one.charge === charge)).length;

/** The charges that count: those that were seen in 3 of 5 seeds, the worst first. */
export const counting = (results: readonly Judged[]): Charge[] =>
  charges.filter((charge) => timesSeen(results, charge) >= seenIn);

/**
 * What the runs of one cell say together. The first run that could be judged is all there is where it does not convict; a conviction
 * is tried again until one of its charges was seen in 3 of 5 seeds, or cannot be any more: then it was chance. `open`: more runs are
 * needed.
 */
export function verdictOf(results: readonly Judged[]): CellVerdict {
  const first = results.find(({ verdict }) => verdict !== "unknown");
  if (first === undefined) return results.length >= inVain ? "unknown" : "open";
  if (first.verdict === "kept") return "kept";
  if (counting(results).length > 0) return "convicted";
  const left = seedsOfACell - results.length;
  const most = Math.max(...charges.map((charge) => timesSeen(results, charge)));
  return most + left < seenIn ? "chance" : "open";
}

/** The seed that a cell is to be run with next; `null` when its verdict stands. */
export function nextSeed(done: readonly Result[], first: number): number | null {
  if (verdictOf(done) !== "open") return null;
  const used = new Set(done.map(({ seed }) => seed));
  for (let seed = first; seed < first + seedsOfACell; seed++) if (!used.has(seed)) return seed;
  return null;
}
