import type { Random } from "./random.js";
import type { Lane, PlannedFault } from "./scenario.js";

/** A fault that may be drawn. */
export interface Drawable {
  /** How often it is drawn, relative to the others in the same lanes. Default 1. */
  readonly weight?: number;
  readonly lanes: readonly [Lane, ...Lane[]];
  /** The time after it in which its lanes have no fault. */
  readonly restMs: number;
  /** About how long a fault without `forMs` takes by itself. Default 0. */
  readonly tookMs?: number;
  draw(random: Random): Pick<PlannedFault, "fault" | "target" | "forMs" | "options">;
}

/** Time before the first fault, so that there is something to break. */
export const headMs = 1_000;
/** The time after the last fault. In this time the run shows that work goes on after the fault. */
export const tailMs = 3_000;
const gapMs: readonly [least: number, most: number] = [200, 1_500];

/**
 * Draws faults until the time is full. Faults of one lane come one after the other, each with its rest; two lanes run
 * in parallel. The earlier part of a plan is the same however long the whole plan is.
 */
export function drawFaults(
  random: Random,
  runMs: number,
  drawables: readonly Drawable[],
): readonly PlannedFault[] {
  const endMs = runMs - tailMs;
  const freeMs = new Map<Lane, number>(drawables.flatMap(({ lanes }) => lanes.map((lane) => [lane, headMs])));
  const plan: PlannedFault[] = [];
  for (;;) {
    // The lane that has been free for longest gets the next fault.
    const [lane] = [...freeMs].reduce((first, other) => (other[1] < first[1] ? other : first));
    const drawable = weighed(
      random,
      drawables.filter(({ lanes }) => lanes.includes(lane)),
    );
    const { lanes, restMs, tookMs = 0 } = drawable;
    const atMs = Math.max(...lanes.map((each) => freeMs.get(each) ?? headMs)) + random.between(...gapMs);
    const drawn = drawable.draw(random);
    const overMs = atMs + (drawn.forMs ?? 0) + tookMs;
    if (overMs > endMs) return plan.sort((a, b) => a.atMs - b.atMs);
    for (const each of lanes) freeMs.set(each, overMs + restMs);
    plan.push({ ...drawn, atMs, lanes });
  }
}

function weighed(random: Random, from: readonly Drawable[]): Drawable {
  let left = random.next() * from.reduce((sum, { weight = 1 }) => sum + weight, 0);
  for (const each of from) {
    left -= each.weight ?? 1;
    if (left < 0) return each;
  }
  return from.at(-1) as Drawable;
}
