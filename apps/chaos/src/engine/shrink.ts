import { join } from "node:path";
import type { ScenarioOutcome } from "./outcome.js";
import { type RunOptions, run } from "./run.js";
import type { PlannedFault, Scenario } from "./scenario.js";

/** A smaller case that still shows what was not expected. */
export interface Shrunk {
  readonly scenario: Scenario;
  readonly plan: readonly PlannedFault[];
  readonly outcome: ScenarioOutcome;
  readonly tries: number;
}

export interface ShrinkOptions extends Pick<RunOptions, "seed" | "capabilities" | "folder"> {
  readonly programs?: RunOptions["programs"];
  readonly signal?: AbortSignal;
  /** Default 10. */
  readonly tries?: number;
  /** Instead of running it; for tests. */
  again?(scenario: Scenario, plan: readonly PlannedFault[], attempt: number): Promise<ScenarioOutcome>;
}

/**
 * Replays an unexpected violation with fewer faults, then with fewer workers, and keeps what still shows it. Runs are not exactly
 * repeatable: a smaller case that passes once is given up, though it might convict the next time.
 */
export async function shrink(
  scenario: Scenario,
  found: ScenarioOutcome,
  options: ShrinkOptions,
): Promise<Shrunk> {
  const most = options.tries ?? 10;
  const again = options.again ?? ((smaller, plan, attempt) => replay(smaller, plan, attempt, options));
  let best: Shrunk = { scenario, plan: found.plan, outcome: found, tries: 0 };
  let tries = 0;
  for (let candidates = smaller(best); candidates.length > 0 && tries < most; ) {
    const [next, ...rest] = candidates as [Candidate, ...Candidate[]];
    tries += 1;
    const outcome = await again(next.scenario, next.plan, tries);
    const still =
      outcome.outcome === "violation" && outcome.unexpected.some((name) => found.unexpected.includes(name));
    if (!still) candidates = rest;
    else {
      best = { ...next, outcome, tries };
      candidates = smaller(best);
    }
  }
  return { ...best, tries };
}

type Candidate = Pick<Shrunk, "scenario" | "plan">;

/** The next smaller cases, the boldest first. What waits for a fault goes with it. */
function smaller({ scenario, plan }: Candidate): Candidate[] {
  const half = plan.length > 2 ? [plan.slice(0, Math.ceil(plan.length / 2))] : [];
  const fewer = plan.map((_, at) => plan.filter((__, other) => other !== at));
  const crews = scenario.groups.flatMap((group, at) =>
    group.count <= 2
      ? []
      : [
          scenario.groups.map((each, other) =>
            other === at ? { ...each, count: Math.ceil(each.count / 2) } : each,
          ),
        ],
  );
  return [
    ...[...half, ...fewer].filter(possible).map((less) => ({ scenario, plan: less })),
    ...crews.map((groups) => ({ scenario: { ...scenario, groups }, plan })),
  ];
}

/** No fault waits for one that is not in the plan any more. */
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
