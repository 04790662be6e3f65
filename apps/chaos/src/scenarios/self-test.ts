import { selfTest } from "../checkers/self-test/self-test.js";
import type { Scenario } from "../engine/scenario.js";

export const selfTestScenarios: readonly Scenario[] = [
  {
    id: "S01",
    title: "Hand-made histories and broken recipes in a simulation: every checker judges each as labelled",
    tags: ["smoke", "full"],
    topology: { kind: "none" },
    keys: {},
    groups: [],
    runMs: 0,
    plan: () => [],
    judgeAlone: async () => [await selfTest()],
    expect: { pass: [] },
    faults: ["none"],
    mode: "checkers",
  },
];
