import {
  barrierConformance,
  countDownLatchConformance,
  doubleBarrierConformance,
} from "@holdfast/conformance";
import { simulatedRuntime } from "@holdfast/core/testing";
import { memoryFixture } from "./memory-fixture.js";

const plain = async () => memoryFixture("session");
countDownLatchConformance("memory", plain);
barrierConformance("memory", plain);
doubleBarrierConformance("memory", plain);

for (const seed of [1, 20_061]) {
  const simulated = async () => {
    const runtime = simulatedRuntime(seed);
    const running = runtime.autoAdvance();
    return { ...memoryFixture("session", runtime), close: async () => running[Symbol.dispose]() };
  };
  countDownLatchConformance(`memory, seed ${seed}`, simulated);
  barrierConformance(`memory, seed ${seed}`, simulated);
  doubleBarrierConformance(`memory, seed ${seed}`, simulated);
}
