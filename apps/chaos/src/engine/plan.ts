import { readFileSync, writeFileSync } from "node:fs";
import { faults } from "./faults/registry.js";
import { Random } from "./random.js";
import type { Lane, PlannedFault, Scenario } from "./scenario.js";
import { parseTrigger } from "./trigger.js";

/** The content of `plan.json`: enough to run the same plan again. */
export interface PlanFile {
  readonly scenario: string;
  readonly seed: number;
  readonly plan: readonly PlannedFault[];
  /** How long the workload runs, and how many workers each group has. Unset: as in the scenario. */
  readonly runMs?: number;
  readonly workers?: Readonly<Record<string, number>>;
}

/** Draws the plan of a scenario. It has a random stream of its own, so that neither workers nor other scenarios shift it. */
export function drawPlan(scenario: Scenario, seed: number): readonly PlannedFault[] {
  const drawn = scenario.plan(new Random(seed, `${scenario.id}/nemesis`), scenario.runMs);
  for (const planned of drawn) checkPlanned(planned);
  return drawn.map((planned, at) => ({ number: at + 1, ...planned }));
}

/** The plan of a run, with everything that is needed to run it again. */
export function planFile(scenario: Scenario, seed: number, plan: readonly PlannedFault[]): PlanFile {
  const workers = Object.fromEntries(scenario.groups.map(({ name, count }) => [name, count]));
  return { scenario: scenario.id, seed, runMs: scenario.runMs, workers, plan };
}

/** The scenario as a plan file describes it. Throws `RangeError` for a file that does not fit the scenario. */
export function asPlanned(scenario: Scenario, { runMs, workers }: PlanFile): Scenario {
  const known = scenario.groups.map(({ name }) => name);
  for (const [name, count] of Object.entries(workers ?? {})) {
    if (!known.includes(name)) throw new RangeError(`${scenario.id} has no workers ${name}`);
    if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`not a number of workers: ${count}`);
  }
  return {
    ...scenario,
    runMs: runMs ?? scenario.runMs,
    groups: scenario.groups.map((group) => ({ ...group, count: workers?.[group.name] ?? group.count })),
  };
}

export function writePlan(path: string, file: PlanFile): void {
  writeFileSync(path, `${JSON.stringify(file, null, 2)}\n`);
}

/** Reads a plan file. Throws `RangeError` for a file that is no plan, or has unknown steps. */
export function readPlan(path: string): PlanFile {
  let file: Partial<PlanFile>;
  try {
    file = JSON.parse(readFileSync(path, "utf8")) as Partial<PlanFile>;
  } catch (error) {
    throw new RangeError(`${path}: ${(error as Error).message}`);
  }
  const { scenario, seed, plan, runMs, workers } = file;
  if (typeof scenario !== "string" || !Number.isSafeInteger(seed) || !Array.isArray(plan)) {
    throw new RangeError(`${path} is no plan: it needs scenario, seed and plan`);
  }
  if (runMs !== undefined && !(runMs >= 0)) throw new RangeError(`${path}: runMs must be 0 or more`);
  if (workers !== undefined && (typeof workers !== "object" || workers === null)) {
    throw new RangeError(`${path}: workers must be numbers by the names of groups`);
  }
  for (const planned of plan) checkPlanned(planned);
  return {
    scenario,
    seed: seed as number,
    plan,
    ...(runMs !== undefined && { runMs }),
    ...(workers !== undefined && { workers }),
  };
}

const lanes: readonly Lane[] = ["servers", "clients"];

function checkPlanned(planned: PlannedFault): void {
  if (!Object.hasOwn(faults, planned.fault)) throw new RangeError(`no fault is named ${planned.fault}`);
  if (!(planned.atMs >= 0)) throw new RangeError(`${planned.fault}: atMs must be 0 or more`);
  if (planned.forMs !== undefined && !(planned.forMs >= 0)) {
    throw new RangeError(`${planned.fault}: forMs must be 0 or more`);
  }
  if (planned.after !== undefined) parseTrigger(planned.after);
  for (const lane of planned.lanes ?? []) {
    if (!lanes.includes(lane)) throw new RangeError(`${planned.fault}: no lane is named ${lane}`);
  }
}
