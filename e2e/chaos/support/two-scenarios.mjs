// One scenario that ends at once, and one that runs until it is stopped.
import { defineScenarios } from "@holdfast/chaos";

const common = { title: "of a test", tags: [], plan: () => [], faults: ["none"], mode: "test" };

export default defineScenarios([
  {
    ...common,
    id: "quick",
    topology: { kind: "none" },
    keys: {},
    groups: [],
    runMs: 0,
    expect: { pass: ["belief"] },
    judgeAlone: async () => [
      { checker: "belief", verdict: "pass", summary: "nothing to see", examples: [], metrics: {} },
    ],
  },
  {
    ...common,
    id: "long",
    topology: { kind: "redis" },
    keys: { k1: { kind: "naive", backend: "redis", leaseMs: 1_000 } },
    groups: [{ name: "w", count: 2, recipe: "naive-key", keys: ["k1"], holdMs: [5, 10] }],
    runMs: 120_000,
    expect: { pass: ["mutex"] },
  },
]);
