export { barrierConformance, doubleBarrierConformance } from "./testing/conformance/barrier-suite.js";
export { leaderElectionConformance } from "./testing/conformance/election-suite.js";
export type { ConformanceOptions, Fixture, ForeignLocker } from "./testing/conformance/fixture.js";
export type { LockMaker } from "./testing/conformance/harness.js";
export { countDownLatchConformance } from "./testing/conformance/latch-suite.js";
export {
  readWriteLockConformance,
  reentrantReadWriteLockConformance,
} from "./testing/conformance/read-write-suite.js";
export { semaphoreConformance } from "./testing/conformance/semaphore-suite.js";
export {
  derivedMutexConformance,
  mutexConformance,
  reentrantMutexConformance,
} from "./testing/conformance/suites.js";
export { type MemoryControls, memoryControls } from "./testing/memory-controls.js";
export { seededRandom } from "./testing/random.js";
export { type SimulatedRuntime, simulatedRuntime } from "./testing/simulated-runtime.js";
