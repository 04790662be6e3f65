import { keepingConformance, keepingOptions } from "@holdfast/conformance";
import { simulatedRuntime } from "@holdfast/core/testing";
import { memoryFixture } from "./memory-fixture.js";
import { simulatedFixture } from "./simulated-fixture.js";

for (const how of ["session", "theft"] as const) {
  keepingConformance(`memory, ${how}`, async () => memoryFixture(how, undefined, keepingOptions));
}
for (const seed of [7, 1_234_567]) {
  const fixture = async () => simulatedFixture(simulatedRuntime(seed), "session", keepingOptions);
  // The simulated server refuses a call that asks once as soon as the lock is taken, without queueing it.
  const chosen = (title: string) => !title.includes("asks once");
  keepingConformance(`simulated session, seed ${seed}`, fixture, { chosen });
}
