import { describe, expect, it } from "vitest";
import type { ScenarioOutcome } from "../../src/engine/outcome.js";
import type { PlannedFault, Scenario } from "../../src/engine/scenario.js";
import { shrink } from "../../src/engine/shrink.js";

const fault = (name: string, after?: string): PlannedFault => ({
  fault: name,
  atMs: 0,
  ...(after === undefined ? {} : { after }),
});
const scenario = {
  id: "T",
  groups: [{ name: "w", count: 8, recipe: "zookeeper", keys: ["k1"], holdMs: [1, 1] }],
} as unknown as Scenario;
const outcome = (plan: readonly PlannedFault[], convicted: boolean): ScenarioOutcome =>
  ({
    outcome: convicted ? "violation" : "as-expected",
    unexpected: convicted ? ["mutex"] : [],
    plan,
  }) as unknown as ScenarioOutcome;

/** Convicts as long as the plan has `guilty` and there are at least `crew` workers. */
async function shrunk(plan: readonly PlannedFault[], guilty: string, crew: number, tries = 40) {
  const asked: string[] = [];
  const found = await shrink(scenario, outcome(plan, true), {
    seed: 1,
    capabilities: [],
    folder: "/nowhere",
    tries,
    again: async (smaller, less) => {
      asked.push(less.map((each) => each.fault).join(" "));
      const enough = (smaller.groups[0]?.count ?? 0) >= crew;
      return outcome(less, enough && less.some((each) => each.fault === guilty));
    },
  });
  return { ...found, asked };
}

describe("shrinking", () => {
  it("finds the one fault and the fewest workers that still show a violation", async () => {
    const plan = ["a", "b", "c", "d", "e"].map((name) => fault(name));
    const { plan: left, scenario: smallest } = await shrunk(plan, "d", 3);
    expect(left.map((each) => each.fault)).toEqual(["d"]);
    expect(smallest.groups[0]?.count).toBe(4);
  });

  it("gives up after its tries, with the smallest that was seen to convict", async () => {
    const { tries, plan: left } = await shrunk(
      ["a", "b", "c"].map((name) => fault(name)),
      "c",
      1,
      2,
    );
    expect(tries).toBe(2);
    expect(left.some((each) => each.fault === "c")).toBe(true);
  });

  it("never asks for a plan in which a fault waits for one that is gone", async () => {
    const plan = [fault("a"), fault("b", "ended(a)"), fault("c", "begun(b)")];
    const { asked } = await shrunk(plan, "c", 9);
    expect(asked).not.toContain("b c");
    expect(asked).not.toContain("a c");
    expect(asked).not.toContain("c");
  });

  it("of a scenario of free length runs no longer than what is left of its faults takes", async () => {
    const free = { ...scenario, runMs: 60_000, lastsMs: [60_000, 600_000] } as Scenario;
    const plan = ["a", "b", "c", "d"].map((name, at) => ({
      ...fault(name),
      number: at + 1,
      atMs: 12_000 * at,
    }));
    const asked: [string, number][] = [];
    const found = await shrink(free, outcome(plan, true), {
      seed: 1,
      capabilities: [],
      folder: "/nowhere",
      again: async ({ runMs }, less) => {
        asked.push([less.map(({ number }) => number).join(), runMs]);
        return outcome(
          less,
          less.some(({ number }) => number === 4),
        );
      },
    });
    expect(found.plan).toMatchObject([{ number: 4, atMs: 3_000 }]);
    expect(found.scenario.runMs).toBe(6_000);
    expect(asked.slice(0, 2)).toEqual([
      ["1,2", 6_000],
      ["3,4", 9_000],
    ]);
    expect(Math.max(...asked.map(([, runMs]) => runMs))).toBeLessThan(10_000);
  });

  it("begins no run after its budget, and none after an interruption", async () => {
    const plan = ["a", "b", "c"].map((name) => fault(name));
    const options = { seed: 1, capabilities: [], folder: "/nowhere" } as const;
    const over = await shrink(scenario, outcome(plan, true), {
      ...options,
      budgetMs: 0,
      again: async (_, less) => outcome(less, true),
    });
    expect(over).toMatchObject({ tries: 0, plan });
    const interrupt = new AbortController();
    const running = shrink(scenario, outcome(plan, true), {
      ...options,
      signal: interrupt.signal,
      again: async (_, less) => {
        interrupt.abort(new Error("enough"));
        return outcome(less, true);
      },
    });
    await expect(running).rejects.toThrow("enough");
  });

  it("does not take another violation for the one that was found", async () => {
    const found = await shrink(scenario, outcome([fault("a"), fault("b")], true), {
      seed: 1,
      capabilities: [],
      folder: "/nowhere",
      again: async (_, less) => ({ ...outcome(less, true), unexpected: ["leaks"] }),
    });
    expect(found.plan).toHaveLength(2);
  });
});
