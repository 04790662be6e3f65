import type { LatchStore } from "@holdfast/core/internal";
import { redissonChannels } from "../../layout/channels.js";
import { type LatchArgs, latchCount } from "../../scripts/latch/count.js";
import { foundElse } from "../requests/foreign-key.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

/**
 * Redisson's `RCountDownLatch`. Unlike Redisson's, each waiter reads the count again about every second, so that a lost message
 * delays it no longer than that, and `countDown` counts down by any number.
 *
 * A countdown whose answer is lost rejects with an error that is not retryable. It may have counted, and Redis keeps nothing by
 * which two countdowns could be told apart.
 *
 * `key`: the key of the count, with the provider's prefix.
 */
export function redisLatch(runs: RetryingRequests, name: string, key: string): LatchStore {
  const channel = redissonChannels.latch(key);
  const call = async (action: LatchArgs["action"], count: number, patient = false) => {
    const args = () => {
      const notAfterMs = runs.requests.notAfterMs(key);
      return latchCount.args({ action, count, publish: runs.line.publishCommand, channel, notAfterMs });
    };
    const reply = await runs.run(latchCount, { keys: [key], args, repeatable: action === "read", patient });
    if (reply.status === "counted") return reply;
    throw foundElse(name, key, reply.found, "the count of a latch");
  };
  return {
    trySetCount: async (count) => (await call("set", count)).changed,
    countDown: async (by) => (await call("down", by)).count,
    count: async () => (await call("read", 0)).count,
    subscribe: (changed) => runs.channelWaiters.watch(channel, "redisson", changed),
    read: async () => (await call("read", 0, true)).count,
  };
}
