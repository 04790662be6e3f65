export { type MemoryControls, memoryControls } from "./testing/memory-controls.js";
export { seededRandom } from "./testing/random.js";
export { type SimulatedRuntime, simulatedRuntime } from "./testing/simulated-runtime.js";
