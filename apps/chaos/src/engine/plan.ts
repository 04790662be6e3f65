import { readFileSync, writeFileSync } from "node:fs";
import { faults } from "./faults/registry.js";
import { Random } from "./random.js";
import type { PlannedFault, Scenario } from "./scenario.js";
import { parseTrigger } from "./trigger.js";

/** What `plan.json` holds: enough to run the same again. */
export interface PlanFile {
  readonly scenario: string;
  readonly seed: number;
  readonly plan: readonly PlannedFault[];
}

/** Draws the plan of a scenario. The stream is of its own, so that neither workers nor other scenarios shift it. */
export function drawPlan(scenario: Scenario, seed: number): readonly PlannedFault[] {
  const plan = scenario.plan(new Random(seed, `${scenario.id}/nemesis`));
  for (const planned of plan) checkPlanned(planned);
  return plan;
}

export function writePlan(path: string, file: PlanFile): void {
  writeFileSync(path, `${JSON.stringify(file, null, 2)}\n`);
}

/** Throws `RangeError` for a file that is no plan, or plans what nobody knows. */
export function readPlan(path: string): PlanFile {
  let file: Partial<PlanFile>;
  try {
    file = JSON.parse(readFileSync(path, "utf8")) as Partial<PlanFile>;
  } catch (error) {
    throw new RangeError(`${path}: ${(error as Error).message}`);
  }
  const { scenario, seed, plan } = file;
  if (typeof scenario !== "string" || !Number.isSafeInteger(seed) || !Array.isArray(plan)) {
    throw new RangeError(`${path} is no plan: it needs scenario, seed and plan`);
  }
  for (const planned of plan) checkPlanned(planned);
  return { scenario, seed: seed as number, plan };
}

function checkPlanned(planned: PlannedFault): void {
  if (!Object.hasOwn(faults, planned.fault)) throw new RangeError(`no fault is named ${planned.fault}`);
  if (!(planned.atMs >= 0)) throw new RangeError(`${planned.fault}: atMs must be 0 or more`);
  if (planned.forMs !== undefined && !(planned.forMs >= 0)) {
    throw new RangeError(`${planned.fault}: forMs must be 0 or more`);
  }
  if (planned.after !== undefined) parseTrigger(planned.after);
}
