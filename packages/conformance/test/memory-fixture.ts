import type { Fixture } from "@holdfast/conformance";
import {
  type LockProvider,
  type MemoryLocksOptions,
  MemorySpace,
  memoryLocks,
  type Runtime,
} from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";

/** Memory providers on one space. A hold is lost by the end of its provider's session, or by theft. */
export function memoryFixture(
  how: "session" | "theft",
  runtime?: Runtime,
  options: MemoryLocksOptions = {},
): Fixture {
  const space = new MemorySpace();
  const providers: LockProvider[] = [];
  return {
    ...(runtime === undefined ? {} : { runtime }),
    async provider() {
      const provider = memoryLocks({ space, ...options, ...(runtime === undefined ? {} : { runtime }) });
      providers.push(provider);
      return provider;
    },
    async loseHold(handle) {
      const holder = providers.find((each) => each.holds().some((held) => held.owner === handle.owner));
      if (holder === undefined) throw new Error("nobody holds that");
      const controls = memoryControls(holder);
      if (how === "theft") {
        if (!controls.stealHold(handle)) throw new Error("nothing was there to steal");
        return;
      }
      controls.expire();
      controls.reconnect();
    },
    async partition(provider) {
      const controls = memoryControls(provider);
      controls.suspend();
      return { [Symbol.dispose]: () => controls.reconnect() };
    },
  };
}
