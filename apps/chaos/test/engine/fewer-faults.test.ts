import { describe, expect, it } from "vitest";
import { numbered, withFaults } from "../../src/engine/fewer-faults.js";
import { tailMs } from "../../src/engine/random-plan.js";
import type { PlannedFault, Scenario } from "../../src/engine/scenario.js";

const free = { id: "T", runMs: 60_000, lastsMs: [60_000, 600_000] } as unknown as Scenario;
const fixed = { id: "T", runMs: 60_000 } as unknown as Scenario;
const at = (number: number, atMs: number, forMs?: number, after?: string): PlannedFault => ({
  number,
  fault: "zk.kill",
  atMs,
  ...(forMs !== undefined && { forMs }),
  ...(after !== undefined && { after }),
});

describe("part of a plan", () => {
  it("leaves out the time in which nothing is broken, keeps what overlaps as it was, and ends soon after", () => {
    const { scenario, plan } = withFaults(free, [at(3, 20_000, 2_000), at(4, 21_500, 1_000), at(9, 50_000)]);
    expect(plan.map(({ number, atMs }) => [number, atMs])).toEqual([
      [3, 3_000],
      [4, 4_500],
      [9, 8_500],
    ]);
    expect(scenario.runMs).toBe(8_500 + tailMs);
  });

  it("is left where it is when it began early, and never runs longer than the whole", () => {
    const { scenario, plan } = withFaults(free, [at(1, 1_200, 500), at(2, 3_000)]);
    expect(plan.map(({ atMs }) => atMs)).toEqual([1_200, 3_000]);
    expect(withFaults(free, [at(1, 0, 59_999)]).scenario.runMs).toBe(60_000);
    expect(scenario.runMs).toBe(3_000 + tailMs);
  });

  it("with triggers, or of a scenario that always runs as long, keeps its times", () => {
    const triggered = [at(1, 20_000, 1, "held(k1)")];
    expect(withFaults(free, triggered)).toEqual({ scenario: free, plan: triggered });
    expect(withFaults(fixed, [at(1, 20_000)])).toEqual({ scenario: fixed, plan: [at(1, 20_000)] });
  });

  it("is chosen by the numbers of the whole, and a number that is not there is an error", () => {
    const plan = [at(1, 0), at(2, 1), at(5, 2)];
    expect(numbered(plan, [5, 1]).map(({ number }) => number)).toEqual([1, 5]);
    expect(() => numbered(plan, [1, 3, 4])).toThrow("the plan has no fault 3, 4");
  });
});
