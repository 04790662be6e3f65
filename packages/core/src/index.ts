export * from "./api/acquiring.js";
export * from "./api/capabilities.js";
export * from "./api/election.js";
export * from "./api/errors.js";
export * from "./api/events.js";
export * from "./api/fencing.js";
export * from "./api/handle.js";
export * from "./api/inspect.js";
export * from "./api/multi-lock.js";
export * from "./api/mutex.js";
export * from "./api/provider.js";
export * from "./api/read-write-lock.js";
export * from "./api/record.js";
export * from "./api/rendezvous.js";
export * from "./api/retry.js";
export * from "./api/runtime.js";
export * from "./api/semaphore.js";
export * from "./api/values.js";
export { tokenGate } from "./fencing/token-gate.js";
export { type MemoryLocksOptions, memoryLocks } from "./memory/memory-locks.js";
export { MemorySpace } from "./memory/memory-space.js";
export {
  type CloseOnSignalsOptions,
  type ClosingSignal,
  closeOnSignals,
} from "./provider/close-on-signals.js";
export { type FullJitterOptions, fullJitterRetry } from "./retry.js";
export { systemRuntime } from "./runtime.js";
