import { leaderElectionConformance } from "@holdfast/conformance";
import { simulatedRuntime } from "@holdfast/core/testing";
import { memoryFixture } from "./memory-fixture.js";
import { memoryWorlds } from "./memory-worlds.js";
import { simulatedFixture } from "./simulated-fixture.js";

for (const { name, fixture } of memoryWorlds(memoryFixture)) leaderElectionConformance(name, fixture);

for (const lease of ["session", "ttl"] as const) {
  for (const seed of [7, 1_234_567]) {
    const fixture = async () => simulatedFixture(simulatedRuntime(seed), lease);
    leaderElectionConformance(`simulated ${lease}, seed ${seed}`, fixture);
  }
}
