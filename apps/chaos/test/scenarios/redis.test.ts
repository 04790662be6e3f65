import { describe, expect, it } from "vitest";
import { drawPlan } from "../../src/engine/plan.js";
import type { Scenario } from "../../src/engine/scenario.js";
import { catalogue } from "../../src/scenarios/catalogue.js";

const rows = catalogue.filter(({ id }) => /^R\d/.test(id));
const row = (id: string): Scenario => {
  const found = rows.find((each) => each.id === id);
  if (found === undefined) throw new Error(`no row ${id}`);
  return found;
};

/** The parts of a row that make it a different experiment. */
const experiment = ({ topology, keys, groups, plan, runMs }: Scenario) => ({
  topology,
  keys,
  groups,
  plan,
  runMs,
});

describe("the rows of Redis", () => {
  it("has every row of the table, under its own id", () => {
    const ids = rows.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const asked = [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 17, 18, 20];
    for (const number of asked) expect(ids).toContain(`R${String(number).padStart(2, "0")}`);
    expect(ids).toEqual(expect.arrayContaining(["R03f", "R08-short"]));
  });

  it.each(rows.map((each) => [each.id, each] as const))(
    "%s draws the same plan from one seed, and aims at what is there",
    (_id, scenario) => {
      for (const seed of [1, 2, 3]) expect(drawPlan(scenario, seed)).toEqual(drawPlan(scenario, seed));
      const workers = scenario.groups.flatMap(({ name, count }) =>
        Array.from({ length: count }, (_, at) => `${name}${at}`),
      );
      for (const { target = "", options, after = "" } of drawPlan(scenario, 1)) {
        const [, worker] = /^worker\((.+)\)$/.exec(target) ?? [];
        if (worker !== undefined) expect(workers).toContain(worker);
        for (const [, key = ""] of `${target} ${after}`.matchAll(
          /(?:holder|waiter|held|waiting|granted)\(([^,)]+)/g,
        )) {
          expect(Object.keys(scenario.keys)).toContain(key);
        }
        if (typeof options?.group === "string") {
          expect(scenario.groups.map(({ name }) => name)).toContain(options.group);
        }
      }
      for (const { keys } of scenario.groups) {
        for (const key of keys) expect(Object.keys(scenario.keys)).toContain(key);
      }
    },
  );

  it.each(rows.map((each) => [each.id, each] as const))(
    "%s says what must pass, never both ways",
    (_id, { expect: { pass, violation = [], report = [] } }) => {
      expect(pass.length).toBeGreaterThan(0);
      const all = [...pass, ...violation, ...report];
      expect(new Set(all).size).toBe(all.length);
      // What breaks exclusion for the application also breaks it in what its clients believe.
      if (violation.includes("mutex")) expect([...violation, ...report]).toContain("belief");
    },
  );

  it("shows that it is the wait for replicas that protects: the same experiment but for that", () => {
    const bare = (id: string) =>
      JSON.parse(
        JSON.stringify(experiment(row(id)).groups, (name, value) => (name === "acks" ? "any" : value)),
      );
    for (const [without, withAll] of [
      ["R05", "R08-killed"],
      ["R07-ours", "R08-planned"],
    ] as const) {
      expect(bare(withAll)).toEqual(bare(without));
      expect(row(withAll).groups).not.toEqual(row(without).groups);
      expect(row(withAll).topology).toEqual(row(without).topology);
      expect(row(withAll).keys).toEqual(row(without).keys);
      expect(row(without).expect.violation).toContain("mutex");
      expect(row(withAll).expect.violation).toBeUndefined();
    }
  });

  it("shows that it is the guard, or a disk that keeps everything, that protects RedLock", () => {
    const guards = (id: string) => row(id).groups.map(({ options }) => options?.restartGuard !== false);
    expect(guards("R11")).toEqual([false, false]);
    expect(guards("R11-guard")).toEqual([true, true]);
    expect(drawPlan(row("R11"), 1).map(({ forMs: _, ...planned }) => planned)).toEqual(
      drawPlan(row("R12"), 1).map(({ forMs: _, ...planned }) => planned),
    );
    expect(row("R12").topology).toMatchObject({ persistence: "aof-always" });
    expect(guards("R12")).toEqual([false, false]);
  });
});
