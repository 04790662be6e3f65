// A backend's author runs the suites of the kit.
import { mutexConformance } from "@holdfast/conformance";
import { MemorySpace, memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";

mutexConformance("memory", async () => {
  const space = new MemorySpace();
  let any;
  return {
    async provider() {
      any = memoryLocks({ space });
      return any;
    },
    async loseHold(handle) {
      memoryControls(any).stealHold(handle);
    },
    async partition(provider) {
      memoryControls(provider).suspend();
      return { [Symbol.dispose]: () => memoryControls(provider).reconnect() };
    },
  };
});
