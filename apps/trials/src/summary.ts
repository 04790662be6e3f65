import { codeOf } from "./code.js";
import { charges, digestOf, type Fault, faults } from "./faults.js";
import type { Result, Results } from "./results.js";
import { type Subject, subjects } from "./subjects.js";
import { type CellVerdict, counting, timesSeen, verdictOf } from "./verdict.js";

/** One subject under one fault, as text and page show it. */
export interface Cell {
  readonly subject: Subject;
  readonly fault: Fault;
  readonly verdict: CellVerdict | "not run" | "does not fit";
  /** The text that shows its worst charge; without a charge, why there is no verdict. */
  readonly says: string;
  /** The runs on which the verdict is based. */
  readonly runs: readonly Result[];
  readonly shown: Result | null;
  /** The verdict is of earlier code of the runner or of a lock of this repository. The next trials run the cell again. */
  readonly earlier: boolean;
  /** What the subject's documents say about this fault. */
  readonly outOfScope: { readonly says: string; readonly source: string } | null;
}

/** All cells, by subject and then by fault. If several versions were run, the last one counts. */
export function cellsOf(results: Results): readonly Cell[] {
  return subjects.flatMap((subject) => faults.map((fault) => cellOf(subject, fault, results)));
}

function cellOf(subject: Subject, fault: Fault, results: Results): Cell {
  const about = { subject, fault, earlier: false, outOfScope: subject.outOfScope[fault.id] ?? null };
  const trial = fault.of(subject);
  if (typeof trial === "string")
    return { ...about, verdict: "does not fit", says: trial, runs: [], shown: null };
  const version = results.versionOf(subject.id) ?? "";
  const cell = {
    subject: subject.id,
    fault: fault.id,
    version,
    trial: digestOf(fault, trial, subject),
    code: codeOf(subject),
  };
  const present = results.of(cell);
  const runs = present.length > 0 ? present : results.ofLastCode(cell);
  const verdict = verdictOf(runs);
  const [worst] = counting(runs);
  const shown =
    runs.find(({ charges }) => charges.some(({ charge }) => charge === worst)) ??
    runs.find((each) => each.verdict !== "unknown") ??
    runs[0] ??
    null;
  if (verdict === "open") {
    const says = "a conviction counts when it is seen in 3 of 5 seeds";
    return { ...about, verdict: "not run", says: runs.length === 0 ? "not run yet" : says, runs, shown };
  }
  const charged = shown?.charges.find(({ charge }) => charge === worst) ?? shown?.charges[0];
  const earlier = present.length === 0;
  return { ...about, verdict, says: charged?.text ?? shown?.why ?? "", runs, shown, earlier };
}

/** A cell in a word or two. */
export function wordOf({ verdict, runs }: Cell): string {
  if (verdict === "convicted") return counting(runs)[0] ?? "";
  if (verdict === "does not fit") return "–";
  return verdict === "chance" ? "kept (see below)" : verdict;
}

/** For each charge, in how many seeds it was seen. */
export function seenOf({ runs }: Cell): string {
  const seeds = `${runs.length} ${runs.length === 1 ? "seed" : "seeds"}`;
  const seen = charges.filter((charge) => timesSeen(runs, charge) > 0);
  return seen.map((charge) => `${charge} in ${timesSeen(runs, charge)} of ${seeds}`).join(", ");
}

/** The command line that runs a cell again, from the first of its seeds. */
export const againOf = ({ subject, fault }: Cell, seed: number): string =>
  `node apps/trials/dist/main.js --subjects ${subject.id} --faults ${fault.id} --seed ${seed} --out trials-results/again`;

/** The measurements of a subject beside its verdicts. */
export interface Measured {
  readonly subject: Subject;
  readonly version: string;
  readonly servers: string;
  readonly handOffP99Ms: number | undefined;
  readonly waitP99Ms: number | undefined;
  /** Whether holders were notified of losses before the next grant, over all runs of faults under which that is possible. */
  readonly told: string;
}

export function measuredOf(subject: Subject, cells: readonly Cell[]): Measured {
  const own = cells.filter((cell) => cell.subject === subject);
  const runs = own.flatMap((cell) => cell.runs);
  const figures = own.find(({ fault }) => fault.id === "none")?.shown?.figures;
  return {
    subject,
    version: runs[0]?.version ?? "",
    servers: serversOf(runs),
    handOffP99Ms: figures?.handOffP99Ms,
    waitP99Ms: figures?.waitP99Ms,
    told: runs.length === 0 ? "" : toldOf(subject, own),
  };
}

/**
 * The server versions, each named once, also for five masters. The version of Debian's ZooKeeper contains a placeholder
 * for the commit that was never filled in; it is removed.
 */
function serversOf(runs: readonly Result[]): string {
  const said = runs.flatMap(({ servers }) =>
    Object.entries(servers).map(
      ([name, version]) => `${name.replace(/\d+$/, "")} ${version.replace(/-\$\{.*\}/, "")}`,
    ),
  );
  return [...new Set(said)].join(", ");
}

function toldOf({ provides }: Subject, cells: readonly Cell[]): string {
  if (provides.tellsLoss !== true) return "never reported";
  const margins = cells
    .filter(({ fault }) => fault.excuses["told late"] === undefined)
    .flatMap(({ runs }) => runs.flatMap(({ figures }) => figures.marginMs ?? []));
  if (margins.length === 0) return "nothing was lost";
  const late = margins.filter((margin) => margin < 0);
  if (late.length === 0) return `in time, ${Math.round(Math.min(...margins))} ms before the next grant`;
  return `late in ${late.length} of ${margins.length} runs, by up to ${Math.round(-Math.min(...late))} ms`;
}
