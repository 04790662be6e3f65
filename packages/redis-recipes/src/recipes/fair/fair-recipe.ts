import { LayoutConflictError } from "@holdfast/core";
import { redissonChannels } from "../../layout/channels.js";
import { fairKeyList, fairKeys } from "../../layout/keys.js";
import { fairForce } from "../../scripts/fair/force.js";
import { fairInspect } from "../../scripts/inspect/fair.js";
import { mutexAsk } from "../../scripts/mutex/ask.js";
import type { RedisDesk } from "../desk.js";
import { defaultMaxPending, lockSnapshot } from "../inspect-mutex.js";
import { publishAlways } from "../publish-how.js";
import { QueuedAttempt } from "../queued-attempt.js";
import type { Recipe } from "../recipe.js";
import { fairBatches, fairLock } from "./fair-mutex.js";

const kind = "fair-mutex";

/** Redisson's `RFairLock`. */
export function fairRecipe(desk: RedisDesk): Recipe {
  const batches = fairBatches(desk);
  const conflict = (name: string, found: string): LayoutConflictError =>
    new LayoutConflictError(`"${name}" is no ${kind}: its key holds a ${found}`, {
      lockName: name,
      backend: "redis",
    });
  return {
    attempt: (request, key, listener) =>
      new QueuedAttempt(desk, [{ lock: fairLock(desk, batches, request.name, key), request }], listener),
    async inspect(name, key, options) {
      options.signal?.throwIfAborted();
      const { reply } = await desk.run({
        script: fairInspect,
        keys: fairKeyList(fairKeys(key)),
        args: fairInspect.args({ maxPending: options.maxPending ?? defaultMaxPending }),
      });
      return lockSnapshot(desk, kind, name, reply);
    },
    async requestRevoke(name, key) {
      const { reply } = await desk.run({ script: mutexAsk, keys: [key], args: mutexAsk.args(null) });
      if (reply.status === "conflict") throw conflict(name, reply.found);
      return reply.status === "asked";
    },
    async force(name, key) {
      const args = fairForce.args({
        expected: "",
        waitMs: desk.settings.fairLockWaitTimeoutMs,
        publish: publishAlways(desk),
        channel: redissonChannels.mutex(key),
      });
      const { reply } = await desk.run({ script: fairForce, keys: fairKeyList(fairKeys(key)), args });
      if (reply.status === "conflict") throw conflict(name, reply.found);
      return reply.status === "forced";
    },
  };
}
