export { asMutex, leadOf } from "./testing/as-mutex.js";
export { multiLockAcrossConformance, multiLockConformance } from "./testing/conformance.js";
