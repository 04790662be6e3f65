import {
  mutexConformance,
  readWriteLockConformance,
  reentrantMutexConformance,
  reentrantReadWriteLockConformance,
} from "@holdfast/conformance";
import { simulatedRuntime } from "@holdfast/core/testing";
import { memoryFixture } from "./memory-fixture.js";

for (const how of ["session", "theft"] as const) {
  mutexConformance(`memory, ${how}`, async () => memoryFixture(how));
  reentrantMutexConformance(`memory, ${how}`, async () => memoryFixture(how));
  readWriteLockConformance(`memory, ${how}`, async () => memoryFixture(how));
  reentrantReadWriteLockConformance(`memory, ${how}`, async () => memoryFixture(how));
  for (const seed of [1, 20_061, 3_735_928_559]) {
    const simulated = async () => {
      const runtime = simulatedRuntime(seed);
      const running = runtime.autoAdvance();
      return { ...memoryFixture(how, runtime), close: async () => running[Symbol.dispose]() };
    };
    mutexConformance(`memory, ${how}, seed ${seed}`, simulated);
    reentrantMutexConformance(`memory, ${how}, seed ${seed}`, simulated);
    readWriteLockConformance(`memory, ${how}, seed ${seed}`, simulated);
    reentrantReadWriteLockConformance(`memory, ${how}, seed ${seed}`, simulated);
  }
}
