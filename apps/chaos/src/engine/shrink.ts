import { join } from "node:path";
import { type Planned, withFaults } from "./fewer-faults.js";
import { minimise } from "./minimise.js";
import type { ScenarioOutcome } from "./outcome.js";
import { type RunOptions, run } from "./run.js";
import type { PlannedFault, Scenario } from "./scenario.js";

/** The smallest case that still shows the unexpected violation. */
export interface Shrunk extends Planned {
  /** The outcome of the smallest case. */
  readonly outcome: ScenarioOutcome;
  /** The number of runs that the search took. */
  readonly tries: number;
}

/** The options of `shrink()`, beside the outcome. */
export interface ShrinkOptions extends Pick<RunOptions, "seed" | "capabilities" | "folder"> {
  /** See `RunOptions.programs`. */
  readonly programs?: RunOptions["programs"];
  /** When it aborts, everything is taken down, and the promise rejects with the reason. */
  readonly signal?: AbortSignal;
  /** The largest number of runs. Default 30. */
  readonly tries?: number;
  /** No run is begun after this time, in milliseconds. Default 10 minutes. */
  readonly budgetMs?: number;
  /** Called after each try with what was run, and whether that still showed the violation. */
  onTry?(attempt: number, planned: Planned, still: boolean): void;
  /** Called instead of running a plan; for tests. */
  again?(scenario: Scenario, plan: readonly PlannedFault[], attempt: number): Promise<ScenarioOutcome>;
}

/**
 * Replays an unexpected violation with fewer faults, then with fewer workers, and keeps what still shows it. Runs are
 * not exactly repeatable: a smaller case that passes once is given up, although it might convict the next time.
 */
export async function shrink(
  scenario: Scenario,
  found: ScenarioOutcome,
  options: ShrinkOptions,
): Promise<Shrunk> {
  const { tries: most = 30, budgetMs = 600_000, signal } = options;
  const again = options.again ?? ((smaller, plan, attempt) => replay(smaller, plan, attempt, options));
  const endMs = performance.now() + budgetMs;
  let best: Omit<Shrunk, "tries"> = { scenario, plan: found.plan, outcome: found };
  let tries = 0;
  const more = (): boolean => tries < most && performance.now() < endMs;
  const shows = async (planned: Planned): Promise<boolean> => {
    signal?.throwIfAborted();
    tries += 1;
    const outcome = await again(planned.scenario, planned.plan, tries);
    const still =
      outcome.outcome === "violation" && outcome.unexpected.some((name) => found.unexpected.includes(name));
    if (still) best = { ...planned, outcome };
    options.onTry?.(tries, planned, still);
    return still;
  };
  await minimise(
    found.plan,
    async (part) => possible(part) && (await shows(withFaults(scenario, part))),
    more,
  );
  for (let crews = smallerCrews(best.scenario); crews.length > 0 && more(); ) {
    const [groups, ...rest] = crews as [Scenario["groups"], ...Scenario["groups"][]];
    const still = await shows({ scenario: { ...best.scenario, groups }, plan: best.plan });
    crews = still ? smallerCrews(best.scenario) : rest;
  }
  return { ...best, tries };
}

/** All crews in which one group of workers is halved. */
const smallerCrews = ({ groups }: Scenario): Scenario["groups"][] =>
  groups.flatMap((group, at) =>
    group.count <= 2
      ? []
      : [groups.map((each, other) => (other === at ? { ...each, count: Math.ceil(each.count / 2) } : each))],
  );

/** Whether no fault waits for a fault that is no longer in the plan. */
const possible = (plan: readonly PlannedFault[]): boolean =>
  plan.every(({ after }) => {
    const [, name] = /^(?:begun|ended)\(\s*([^,()\s]+)/.exec(after ?? "") ?? [];
    return name === undefined || plan.some(({ fault }) => fault === name);
  });

async function replay(
  scenario: Scenario,
  plan: readonly PlannedFault[],
  attempt: number,
  { folder, seed, capabilities, programs, signal }: ShrinkOptions,
): Promise<ScenarioOutcome> {
  const { outcomes } = await run({
    scenarios: [scenario],
    seed,
    folder: join(folder, "shrink", String(attempt)),
    capabilities,
    keep: "failed",
    plans: { [scenario.id]: plan },
    ...(programs === undefined ? {} : { programs }),
    ...(signal === undefined ? {} : { signal }),
  });
  return outcomes[0] as ScenarioOutcome;
}
