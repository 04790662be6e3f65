import { semaphoreConformance } from "@holdfast/conformance";
import { simulatedRuntime } from "@holdfast/core/testing";
import { memoryFixture } from "./memory-fixture.js";
import { simulatedFixture } from "./simulated-fixture.js";

for (const how of ["session", "theft"] as const) {
  semaphoreConformance(`memory, ${how}`, async () => memoryFixture(how));
  for (const seed of [1, 20_061, 3_735_928_559]) {
    semaphoreConformance(`memory, ${how}, seed ${seed}`, async () => {
      const runtime = simulatedRuntime(seed);
      const running = runtime.autoAdvance();
      return { ...memoryFixture(how, runtime), close: async () => running[Symbol.dispose]() };
    });
  }
}

for (const lease of ["session", "ttl"] as const) {
  for (const seed of [7, 1_234_567]) {
    const fixture = async () => simulatedFixture(simulatedRuntime(seed), lease);
    semaphoreConformance(`simulated ${lease}, seed ${seed}`, fixture);
  }
}
