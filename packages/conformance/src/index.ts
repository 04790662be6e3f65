export { barrierConformance, doubleBarrierConformance } from "./barrier-suite.js";
export { leaderElectionConformance } from "./election-suite.js";
export type { ConformanceOptions, Fixture, ForeignLocker } from "./fixture.js";
export type { LockMaker } from "./harness.js";
export { keepingConformance, keepingOptions } from "./keeping-suite.js";
export { countDownLatchConformance } from "./latch-suite.js";
export { readWriteLockConformance, reentrantReadWriteLockConformance } from "./read-write-suite.js";
export { semaphoreConformance } from "./semaphore-suite.js";
export { derivedMutexConformance, mutexConformance, reentrantMutexConformance } from "./suites.js";
