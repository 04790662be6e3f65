import { afterPending, awaitValue, type DoubleBarrierStore } from "@holdfast/core/internal";
import { ourChannels } from "../../layout/channels.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";
import { RedisBarrierEntry } from "./barrier-entry.js";

/**
 * A double barrier, which Redisson does not have. The sorted set `holdfast_double_barrier_members:{name}` holds the members that
 * are in, and until when each counts. The key `holdfast_double_barrier:{name}` shows that the barrier was full. Members report
 * each `heartbeatMs` that they are there; a member that is silent for `aliveMs` is out. `name`: with the provider's prefix.
 */
export function redisDoubleBarrier(
  runs: RetryingRequests,
  name: string,
  freshMember: () => string,
): DoubleBarrierStore {
  const { engine } = runs;
  return {
    async enter(parties, bounds) {
      // Wait for the end of an earlier call that was given up: its entry would count this process as two members.
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
