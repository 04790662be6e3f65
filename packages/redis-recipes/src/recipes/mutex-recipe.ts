import { LayoutConflictError, type PrimitiveKind } from "@holdfast/core";
import { redissonChannels } from "../layout/channels.js";
import { mutexKeyList, mutexKeys } from "../layout/keys.js";
import { mutexAsk } from "../scripts/mutex/ask.js";
import { mutexForce } from "../scripts/mutex/force.js";
import type { RedisDesk } from "./desk.js";
import { inspectMutex } from "./inspect-mutex.js";
import { mutexLock } from "./mutex.js";
import { QueuedAttempt } from "./queued-attempt.js";
import type { Recipe } from "./recipe.js";

/** Redisson's `RLock`: mutex and re-entrant mutex, which differ in this process only. */
export function mutexRecipe(desk: RedisDesk, kind: PrimitiveKind): Recipe {
  return {
    attempt: (request, key, listener) =>
      new QueuedAttempt(desk, [{ lock: mutexLock(desk, request.name, key), request }], listener),
    inspect: (name, key, options) => inspectMutex(desk, kind, name, key, options),
    async requestRevoke(name, key) {
      const { reply } = await desk.run({ script: mutexAsk, keys: [key], args: mutexAsk.args(null) });
      if (reply.status === "conflict") throw foreign(name, kind, reply.found);
      return reply.status === "asked";
    },
    async force(name, key) {
      const args = mutexForce.args({
        expected: "",
        publish: desk.line.publishCommand,
        channel: redissonChannels.mutex(key),
        changes: "",
      });
      const { reply } = await desk.run({ script: mutexForce, keys: mutexKeyList(mutexKeys(key)), args });
      if (reply.status === "conflict") throw foreign(name, kind, reply.found);
      return reply.status === "forced";
    },
  };
}

function foreign(name: string, kind: PrimitiveKind, found: string): LayoutConflictError {
  return new LayoutConflictError(`"${name}" is no ${kind}: its key holds a ${found}`, {
    lockName: name,
    backend: "redis",
  });
}
