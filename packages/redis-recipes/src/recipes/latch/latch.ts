import type { LatchStore } from "@holdfast/core/internal";
import { redissonChannels } from "../../layout/channels.js";
import { type LatchArgs, latchCount } from "../../scripts/latch/count.js";
import { foundElse } from "../requests/foreign-key.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

/**
 * Redisson's `RCountDownLatch`. Unlike it, whoever waits looks again each second, so a lost message holds nobody up; `countDown`
 * takes any number off.
 *
 * A countdown whose answer is lost rejects with an error that is not retryable: it may have counted, and Redis keeps nothing
 * that could tell one countdown from another.
 *
 * `key`: of the count, with the provider's prefix.
 */
export function redisLatch(runs: RetryingRequests, name: string, key: string): LatchStore {
  const channel = redissonChannels.latch(key);
  const call = async (
    action: LatchArgs["action"],
    count: number,
    how: { readonly repeatable: boolean; readonly patient: boolean },
  ): Promise<{ readonly changed: boolean; readonly count: number }> => {
    const args = latchCount.args({ action, count, publish: runs.line.publishCommand, channel });
    const reply = await runs.run(latchCount, { keys: [key], args, ...how });
    if (reply.status === "counted") return reply;
    throw foundElse(name, key, reply.found, "the count of a latch");
  };
  const once = { repeatable: false, patient: false };
  return {
    trySetCount: async (count) => (await call("set", count, once)).changed,
    countDown: async (by) => (await call("down", by, once)).count,
    count: async () => (await call("read", 0, { repeatable: true, patient: false })).count,
    subscribe: (changed) => runs.watch(channel, "redisson", changed),
    read: async () => (await call("read", 0, { repeatable: true, patient: true })).count,
  };
}
