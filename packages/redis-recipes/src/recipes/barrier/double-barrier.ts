import { afterPending, awaitValue, type DoubleBarrierStore } from "@holdfast/core/internal";
import { ourChannels } from "../../layout/channels.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";
import { RedisBarrierEntry } from "./barrier-entry.js";

/**
 * A double barrier, which Redisson does not have: the sorted set `holdfast_double_barrier_members:{name}` says who is in and until
 * when that counts, the key `holdfast_double_barrier:{name}` that it was full. Members say each `heartbeatMs` that they are
 * there; one that is silent for `aliveMs` is out. `name`: with the provider's prefix.
 */
export function redisDoubleBarrier(
  runs: RetryingRequests,
  name: string,
  freshMember: () => string,
): DoubleBarrierStore {
  const { engine } = runs;
  return {
    async enter(parties, bounds) {
      // The entry of a call that was given up would make one member two.
      await afterPending(engine, bounds, ourChannels.doubleBarrier(name));
      const entry = new RedisBarrierEntry(runs, name, freshMember(), parties);
      try {
        await awaitValue(engine, bounds, entry, (full) => full);
      } catch (error) {
        await entry.withdraw();
        throw error;
      }
      entry.passed();
      return entry;
    },
  };
}
