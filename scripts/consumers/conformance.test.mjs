// The author of a backend runs a conformance suite against it.
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
