import { tailMs } from "./random-plan.js";
import type { PlannedFault, Scenario } from "./scenario.js";

/** Longer times without faults are cut to this. */
const idleMs = 3_000;

export interface Planned {
  /** The scenario that was run. */
  readonly scenario: Scenario;
  /** The faults of the run. */
  readonly plan: readonly PlannedFault[];
}

/**
 * A scenario with a part of its faults. If its length is free, the time without faults is shortened too, so that a
 * fault which was drawn for the fiftieth second is shown in the fifth. What is drawn for each fault stays the same.
 */
export function withFaults(scenario: Scenario, part: readonly PlannedFault[]): Planned {
  const { lastsMs, runMs } = scenario;
  // A fault that waits for a trigger has no fixed time that could be shortened.
  if (lastsMs === undefined || part.some(({ after }) => after !== undefined)) return { scenario, plan: part };
  let busyUntilMs = 0;
  let leftOutMs = 0;
  const plan = part.toSorted(byTime).map((planned) => {
    leftOutMs += Math.max(0, planned.atMs - leftOutMs - busyUntilMs - idleMs);
    const atMs = planned.atMs - leftOutMs;
    busyUntilMs = Math.max(busyUntilMs, atMs + (planned.forMs ?? 0));
    return { ...planned, atMs };
  });
  return { scenario: { ...scenario, runMs: Math.min(runMs, busyUntilMs + tailMs) }, plan };
}

/** The faults with these numbers. Throws `RangeError` for numbers that the plan does not have. */
export function numbered(plan: readonly PlannedFault[], numbers: readonly number[]): PlannedFault[] {
  const known = plan.map(({ number }) => number);
  const missing = numbers.filter((number) => !known.includes(number));
  if (missing.length > 0) {
    throw new RangeError(`the plan has no fault ${missing.join(", ")}: it has ${plan.length} of them`);
  }
  return plan.filter(({ number }) => number !== undefined && numbers.includes(number));
}

const byTime = (one: PlannedFault, other: PlannedFault): number => one.atMs - other.atMs;
