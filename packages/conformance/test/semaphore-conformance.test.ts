import { semaphoreConformance } from "@holdfast/conformance";
import { simulatedRuntime } from "@holdfast/core/testing";
import { memoryFixture } from "./memory-fixture.js";
import { memoryWorlds } from "./memory-worlds.js";
import { simulatedFixture } from "./simulated-fixture.js";

for (const { name, fixture } of memoryWorlds(memoryFixture)) semaphoreConformance(name, fixture);

for (const lease of ["session", "ttl"] as const) {
  for (const seed of [7, 1_234_567]) {
    const fixture = async () => simulatedFixture(simulatedRuntime(seed), lease);
    semaphoreConformance(`simulated ${lease}, seed ${seed}`, fixture);
  }
}
