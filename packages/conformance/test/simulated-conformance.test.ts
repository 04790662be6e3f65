import {
  mutexConformance,
  readWriteLockConformance,
  reentrantMutexConformance,
  reentrantReadWriteLockConformance,
} from "@holdfast/conformance";
import { simulatedRuntime } from "@holdfast/core/testing";
import { simulatedFixture } from "./simulated-fixture.js";

for (const lease of ["session", "ttl"] as const) {
  for (const seed of [7, 1_234_567]) {
    const fixture = async () => simulatedFixture(simulatedRuntime(seed), lease);
    mutexConformance(`simulated ${lease}, seed ${seed}`, fixture);
    reentrantMutexConformance(`simulated ${lease}, seed ${seed}`, fixture);
    readWriteLockConformance(`simulated ${lease}, seed ${seed}`, fixture);
    reentrantReadWriteLockConformance(`simulated ${lease}, seed ${seed}`, fixture);
  }
}
