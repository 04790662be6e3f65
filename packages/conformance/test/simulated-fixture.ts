import type { Fixture } from "@holdfast/conformance";
import type { ProviderOptions } from "@holdfast/core";
import type { SimulatedRuntime } from "@holdfast/core/testing";
import { type Simulated, simulatedLocks } from "../../core/test/simulated-driver.js";
import { SimulatedServer } from "../../core/test/simulated-server.js";

/** Clients of one simulated server. A hold is lost by the end of its client's session, or by the removal of its entry. */
export function simulatedFixture(
  runtime: SimulatedRuntime,
  lease: "session" | "ttl",
  options: ProviderOptions = {},
): Fixture {
  const server = new SimulatedServer(runtime, lease);
  const all: Simulated[] = [];
  const running = runtime.autoAdvance();
  return {
    runtime,
    async provider() {
      const made = simulatedLocks(server, lease, options);
      all.push(made);
      return made.provider;
    },
    async loseHold(handle) {
      const holder = all.find(({ provider }) => provider.holds().some((held) => held.owner === handle.owner));
      if (holder === undefined) throw new Error("nobody holds that");
      if (lease === "session") {
        holder.link.expire();
        return;
      }
      const { token, mode } = handle;
      const entry = server.space
        .queue(handle.name)
        .find((each) => each.token === token && each.mode === mode);
      if (entry !== undefined) server.space.evict(handle.name, entry);
    },
    async partition(provider) {
      const link = all.find((each) => each.provider === provider)?.link;
      link?.cut();
      return { [Symbol.dispose]: () => link?.mend() };
    },
    blockLoop: (forMs) => runtime.block(forMs),
    close: async () => running[Symbol.dispose](),
  };
}
