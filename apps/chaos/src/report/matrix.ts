import type { CheckerName } from "../checkers/judge.js";
import type { ScenarioOutcome } from "../engine/outcome.js";
import type { Expectation, Scenario } from "../engine/scenario.js";
import { guarantees } from "./guarantees.js";
import { backendOf, tooLittle } from "./words.js";

/** What scenarios show about one guarantee. If they disagree, the worst counts; the worst is listed first. */
export type Cell =
  | "broken"
  | "broken as known"
  | "unknown"
  | "not promised"
  | "held"
  | "not run"
  | "not judged";

const worst: readonly Cell[] = [
  "broken",
  "broken as known",
  "unknown",
  "not promised",
  "held",
  "not run",
  "not judged",
];

export interface MatrixEntry {
  readonly id: string;
  readonly mode: string;
  readonly faults: readonly string[];
  /** One cell for each guarantee, in their order. */
  readonly cells: readonly Cell[];
}

export interface MatrixRow {
  readonly fault: string;
  readonly cells: readonly { readonly cell: Cell; readonly ids: readonly string[] }[];
}

export interface Matrix {
  readonly mode: string;
  readonly rows: readonly MatrixRow[];
}

/** What a run showed, by every checker that had something to judge, including checkers of which nothing was expected. */
export function entryOfOutcome(outcome: ScenarioOutcome): MatrixEntry {
  const { scenario } = outcome;
  const ran = outcome.outcome !== "skipped" && outcome.outcome !== "broken";
  const little = tooLittle(outcome);
  const results = new Map(outcome.results.map((result) => [result.checker, result]));
  const cells = guarantees.map(({ checkers }) =>
    worstOf(
      checkers.map((checker): Cell => {
        const expected = expectedOf(checker, scenario.expect);
        const result = results.get(checker);
        if (!ran) return expected === null ? "not judged" : "not run";
        if (result?.verdict === "violation") {
          // The conviction was set aside, because the servers may have done it.
          if (outcome.outcome === "unknown" && outcome.unexpected.includes(checker)) return "unknown";
          return expected === "violation" || (expected === "either" && scenario.subject === undefined)
            ? "broken as known"
            : "broken";
        }
        if (result?.verdict === "pass" && (result.metrics.judged ?? 1) > 0)
          return little ? "unknown" : "held";
        return expected === "pass" && result?.verdict !== "pass" ? "unknown" : "not judged";
      }),
    ),
  );
  return { id: scenario.id, mode: modeOf(scenario), faults: scenario.faults, cells };
}

/** What a scenario has to show, in the same form, without a run. */
export function entryOfScenario(scenario: Scenario): MatrixEntry {
  const cells = guarantees.map(({ checkers }) =>
    worstOf(
      checkers.map((checker): Cell => {
        const expected = expectedOf(checker, scenario.expect);
        if (expected === null) return "not judged";
        return expected === "violation" ? "broken as known" : expected === "pass" ? "held" : "not promised";
      }),
    ),
  );
  return { id: scenario.id, mode: modeOf(scenario), faults: scenario.faults, cells };
}

/** One table for each mode, with a row for each fault and a column for each guarantee. */
export function matricesOf(entries: readonly MatrixEntry[]): Matrix[] {
  const modes = new Map<string, Map<string, MatrixEntry[]>>();
  for (const entry of entries) {
    const faults = modes.get(entry.mode) ?? new Map<string, MatrixEntry[]>();
    modes.set(entry.mode, faults);
    for (const fault of entry.faults.length === 0 ? ["none"] : entry.faults)
      faults.set(fault, [...(faults.get(fault) ?? []), entry]);
  }
  return [...modes].map(([mode, faults]) => ({
    mode,
    rows: [...faults].map(([fault, about]) => ({
      fault,
      cells: guarantees.map((_guarantee, at) => {
        const cell = worstOf(about.map(({ cells }) => cells[at] ?? "not judged"));
        return { cell, ids: about.filter(({ cells }) => cells[at] === cell).map(({ id }) => id) };
      }),
    })),
  }));
}

/** The mode with the name of the backend, because the same client at other servers counts as another client. */
function modeOf({ topology, mode }: Pick<Scenario, "topology" | "mode">): string {
  const backend = { checkers: "", other: "", zookeeper: "ZooKeeper, ", redis: "Redis, " }[
    backendOf(topology)
  ];
  return backend + mode;
}

function expectedOf(checker: CheckerName, expect: Expectation): "pass" | "violation" | "either" | null {
  if (expect.violation?.includes(checker)) return "violation";
  if (expect.pass.includes(checker)) return "pass";
  return expect.report?.includes(checker) ? "either" : null;
}

const worstOf = (cells: readonly Cell[]): Cell => worst.find((each) => cells.includes(each)) ?? "not judged";
