import type { CheckerName, ScenarioOutcome } from "@holdfast/chaos";
import { type Charge, charges, type Fault } from "./faults.js";
import type { Charged, Result } from "./results.js";

/** The checkers whose violations count as each charge. */
const checkers: Readonly<Record<Charge, readonly CheckerName[]>> = {
  damage: ["effect", "lost-update", "fence-effect"],
  "two holders": ["belief", "mutex"],
  tokens: ["fence-order"],
  "told late": ["lost-notice"],
  stuck: ["handover", "heal-liveness"],
};

/**
 * The charges of which a run convicts its subject, the worst first. Charges that the fault excuses are left out, and so are
 * convictions that the runner has set aside, because the servers may have done it.
 */
export function chargesOf(
  { results, outcome, unexpected }: Pick<ScenarioOutcome, "results" | "outcome" | "unexpected">,
  { excuses }: Pick<Fault, "excuses">,
): Charged[] {
  const setAside = new Set<string>(outcome === "unknown" ? unexpected : []);
  return charges
    .filter((charge) => excuses[charge] === undefined)
    .flatMap((charge) => {
      const found = results.find(
        ({ checker, verdict }) =>
          verdict === "violation" &&
          checkers[charge].includes(checker as CheckerName) &&
          !setAside.has(checker),
      );
      return found === undefined
        ? []
        : [{ charge, text: `${found.checker}: ${found.examples[0]?.text ?? found.summary}` }];
    });
}

/** The number of seeds of one cell, and in how many of them a charge must be seen to count. */
const seedsOfACell = 5;
const seenIn = 3;
/** After this many runs without a verdict the cell counts as unknown. */
const inVain = 2;

export type CellVerdict = "kept" | "convicted" | "unknown" | "chance" | "open";

type Judged = Pick<Result, "verdict" | "charges">;

/** In how many runs a charge was seen. */
export const timesSeen = (results: readonly Judged[], charge: Charge): number =>
  results.filter((each) => each.charges.some((one) => one.charge === charge)).length;

/** The charges that count: they were seen in at least 3 of the seeds. The worst is first. */
export const counting = (results: readonly Judged[]): Charge[] =>
  charges.filter((charge) => timesSeen(results, charge) >= seenIn);

/**
 * The verdict of the runs of one cell together. If the first run that could be judged does not convict, it decides
 * alone.
 * A conviction is tried again until one of its charges was seen in 3 of 5 seeds, or no longer can be: then it was
 * chance. `open`: more runs are needed.
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

/** The seed for the next run of a cell; `null` if its verdict stands. */
export function nextSeed(done: readonly Result[], first: number): number | null {
  if (verdictOf(done) !== "open") return null;
  const used = new Set(done.map(({ seed }) => seed));
  for (let seed = first; seed < first + seedsOfACell; seed++) if (!used.has(seed)) return seed;
  return null;
}
