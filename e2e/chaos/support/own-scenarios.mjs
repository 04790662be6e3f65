// Scenarios that a user wrote. Their recipe is a module beside this file.
import { defineScenarios } from "@holdfast/chaos";

export default defineScenarios([
  {
    id: "own-pause",
    title: "A holder of our lock stands still for many leases",
    tags: [],
    topology: { kind: "redis" },
    keys: { k1: { kind: "mutex", backend: "redis", leaseMs: 300 } },
    groups: [
      {
        name: "w",
        count: 2,
        recipe: new URL("./naive-client.mjs", import.meta.url).href,
        keys: ["k1"],
        holdMs: [30, 50],
        writes: "unfenced",
      },
    ],
    runMs: 500,
    plan: () => [
      {
        fault: "worker.pause",
        target: "holder(k1)",
        after: "granted(k1, 3)",
        atMs: 0,
        // The other worker gets the lock after one lease. On a busy machine it may then need some seconds to read.
        forMs: 4_500,
        options: { working: true },
      },
    ],
    expect: {
      pass: ["handover", "leaks"],
      violation: ["lost-update"],
      report: ["belief", "advertised", "mutex", "effect"],
    },
    check: { minGrants: 10 },
    faults: ["pause"],
    mode: "own",
  },
]);
