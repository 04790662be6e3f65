import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { drawPlan, readPlan, writePlan } from "../../src/engine/plan.js";
import { Random } from "../../src/engine/random.js";
import type { Scenario } from "../../src/engine/scenario.js";
import { catalogue } from "../../src/scenarios/catalogue.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "plan-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const drawn = (id: string): Scenario => ({
  id,
  title: "",
  tags: [],
  topology: { kind: "none" },
  keys: {},
  groups: [],
  runMs: 0,
  plan: (random) =>
    [1, 2, 3].map(() => ({ fault: "worker.pause", target: "holder(k1)", atMs: random.between(0, 1e9) })),
  expect: { pass: [] },
  faults: [],
  mode: "",
});

describe("a plan", () => {
  it("is the same for the same seed, another for another seed, and another for another scenario", () => {
    expect(drawPlan(drawn("A"), 7)).toEqual(drawPlan(drawn("A"), 7));
    expect(drawPlan(drawn("A"), 7)).not.toEqual(drawPlan(drawn("A"), 8));
    expect(drawPlan(drawn("A"), 7)).not.toEqual(drawPlan(drawn("B"), 7));
  });

  it("comes back from its file as it was written", () => {
    const path = join(folder, "plan.json");
    const file = { scenario: "A", seed: 7, plan: drawPlan(drawn("A"), 7) };
    writePlan(path, file);
    expect(readPlan(path)).toEqual(file);
  });

  it.each([
    ["no JSON", "{"],
    ["no seed", JSON.stringify({ scenario: "A", plan: [] })],
    ["an unknown fault", JSON.stringify({ scenario: "A", seed: 1, plan: [{ fault: "x", atMs: 0 }] })],
    ["no time", JSON.stringify({ scenario: "A", seed: 1, plan: [{ fault: "zk.kill" }] })],
    [
      "a bad trigger",
      JSON.stringify({ scenario: "A", seed: 1, plan: [{ fault: "zk.kill", atMs: 0, after: "now" }] }),
    ],
  ])("with %s is refused with a reason", (_, text) => {
    const path = join(folder, "bad.json");
    writeFileSync(path, text);
    expect(() => readPlan(path)).toThrow(RangeError);
  });

  it("of every scenario of the catalogue can be drawn, and every fault in it is known", () => {
    for (const scenario of catalogue) expect(drawPlan(scenario, 1)).toEqual(drawPlan(scenario, 1));
    expect(catalogue.length).toBeGreaterThan(10);
  });
});

describe("streams of numbers", () => {
  it("of one role are not shifted by another role's", () => {
    const alone = new Random(3, "w1");
    const other = new Random(3, "w0");
    const beside = new Random(3, "w1");
    const numbers = [1, 2, 3].map(() => {
      other.next();
      return beside.next();
    });
    expect(numbers).toEqual([alone.next(), alone.next(), alone.next()]);
    expect(new Random(3, "w0").next()).not.toBe(new Random(3, "w1").next());
  });

  it("spread over the whole range", () => {
    const random = new Random(1, "spread");
    const counts = [0, 0, 0, 0];
    for (let at = 0; at < 4_000; at++) counts[random.between(0, 3)] = (counts[random.between(0, 3)] ?? 0) + 1;
    for (const count of counts) expect(count).toBeGreaterThan(700);
  });
});
