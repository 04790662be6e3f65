import { join } from "node:path";
import type { Capability } from "../engine/capability.js";
import type { RunOutcome, ScenarioOutcome, Smallest } from "../engine/outcome.js";
import type { Scenario } from "../engine/scenario.js";
import { type ShrinkOptions, type Shrunk, shrink } from "../engine/shrink.js";
import { smallestLines } from "../report/smallest.js";
import { writeTimeline } from "../report/timeline/write-timeline.js";
import { plural } from "../report/words.js";
import type { RunArguments } from "./run-options.js";

export interface ShrinkFoundOptions {
  readonly capabilities: readonly Capability[];
  readonly signal: AbortSignal;
  out(line: string): void;
  /** Called instead of running a plan; for tests. */
  readonly again?: ShrinkOptions["again"];
}

/**
 * Shrinks the unexpected violations, as far as that is wanted. Reports the progress and what is left. Returns the
 * outcomes, with the smallest plan where one was found.
 */
export async function shrinkFound(
  wanted: RunArguments,
  { outcomes }: RunOutcome,
  options: ShrinkFoundOptions,
): Promise<ScenarioOutcome[]> {
  const done: ScenarioOutcome[] = [];
  for (const found of outcomes) {
    const scenario = wanted.scenarios.find(({ id }) => id === found.scenario.id);
    const smallest =
      scenario !== undefined && isWanted(wanted, scenario, found)
        ? await smallestOf(wanted, scenario, found, options)
        : undefined;
    done.push(smallest === undefined ? found : { ...found, smallest });
  }
  return done;
}

const isWanted = (
  { shrink: which }: RunArguments,
  scenario: Scenario,
  { outcome }: ScenarioOutcome,
): boolean =>
  outcome === "violation" &&
  scenario.judgeAlone === undefined &&
  (which === "all" || (which === "drawn" && scenario.lastsMs !== undefined));

async function smallestOf(
  wanted: RunArguments,
  scenario: Scenario,
  found: ScenarioOutcome,
  { capabilities, signal, out, again }: ShrinkFoundOptions,
): Promise<Smallest> {
  out(`${scenario.id}: looking for the smallest of ${plural(found.plan.length, "fault")} that show it`);
  const shrunk = await shrink(scenario, found, {
    seed: wanted.seed,
    capabilities,
    folder: join(wanted.out, scenario.id),
    budgetMs: wanted.shrinkBudgetMs,
    signal,
    ...(again !== undefined && { again }),
    onTry: (attempt, { plan }, still) =>
      out(`  try ${attempt}: ${plural(plan.length, "fault")}: ${still ? "shows it" : "does not show it"}`),
  });
  const smallest = about(wanted, scenario, found, shrunk);
  const { folder } = smallest;
  if (folder !== null) {
    await writeTimeline(join(folder, "history.jsonl"), join(folder, "timeline.html"), shrunk.outcome);
  }
  for (const line of smallestLines({ smallest })) out(`    ${line}`);
  return smallest;
}

/**
 * Describes the smallest plan. Its faults were first seen to show the violation with the whole crew, so their numbers
 * are enough on any machine. The plan file in its folder also has the smaller crew.
 */
function about(wanted: RunArguments, scenario: Scenario, found: ScenarioOutcome, shrunk: Shrunk): Smallest {
  const { folder } = shrunk.outcome;
  const isSmaller = shrunk.outcome !== found;
  const numbers = shrunk.plan.map(({ number }) => number);
  const known = numbers.length > 0 && numbers.every((number) => number !== undefined);
  const which = againOf({ ...wanted, faults: isSmaller && known ? numbers : wanted.faults }, scenario.id);
  return {
    faults: shrunk.plan,
    drawn: found.plan.length,
    workers: shrunk.scenario.groups.reduce((sum, { count }) => sum + count, 0),
    tries: shrunk.tries,
    command: isSmaller && !known ? `holdfast-chaos run --plan ${join(folder ?? "", "plan.json")}` : which,
    folder: isSmaller ? folder : null,
  };
}

/** The command line that runs one of the scenarios of this run again in the same way. */
export function againOf({ which, faults }: Pick<RunArguments, "which" | "faults">, id: string): string {
  const run = which.includes("--plan ") ? which : `${id} ${which}`;
  return `holdfast-chaos run ${run}${faults === null ? "" : ` --faults ${faults.join(",")}`}`;
}
