import { expect } from "vitest";

/**
 * Checks that the random steps have met all of these outcomes. Otherwise they compared less than they seem to. A full run must
 * meet all of them. A share of it may miss rare ones, which it then prints.
 */
export function expectMet(tally: ReadonlyMap<string, number>, outcomes: readonly string[]): void {
  const missed = outcomes.filter((outcome) => !tally.has(outcome));
  if (missed.length > 0) console.log(`not met by chance: ${missed.join(", ")}`);
  expect(missed.length).toBeLessThanOrEqual(process.env.HOLDFAST_FULL === "1" ? 0 : outcomes.length / 4);
}
