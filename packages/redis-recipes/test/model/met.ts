import { expect } from "vitest";

/**
 * That the steps of chance have met all of these outcomes: else they compared less than they seem to. All of them in a full run; a share of it
 * may miss the rare ones, which it then prints.
 */
export function expectMet(tally: ReadonlyMap<string, number>, outcomes: readonly string[]): void {
  const missed = outcomes.filter((outcome) => !tally.has(outcome));
  if (missed.length > 0) console.log(`not met by chance: ${missed.join(", ")}`);
  expect(missed.length).toBeLessThanOrEqual(process.env.HOLDFAST_FULL === "1" ? 0 : outcomes.length / 4);
}
