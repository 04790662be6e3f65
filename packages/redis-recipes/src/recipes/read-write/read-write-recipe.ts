import { LayoutConflictError, type LockSnapshot, type PrimitiveKind } from "@holdfast/core";
import { redissonChannels } from "../../layout/channels.js";
import { mutexKeyList, readWriteKeys } from "../../layout/keys.js";
import { writerField } from "../../layout/owners.js";
import { readWriteInspect } from "../../scripts/inspect/read-write.js";
import { readWriteAsk } from "../../scripts/read-write/ask.js";
import { readWriteForce } from "../../scripts/read-write/force.js";
import type { RedisDesk } from "../desk.js";
import { defaultMaxPending, lockSnapshot } from "../inspect-mutex.js";
import { PolledAttempt } from "../polled-attempt.js";
import { publishAlways } from "../publish-how.js";
import { QueuedAttempt } from "../queued-attempt.js";
import type { Recipe } from "../recipe.js";
import type { RedisGrant } from "../redis-grant.js";
import { readLock, readRenewals } from "./read-lock.js";
import { writeHeartbeats, writeLock } from "./write-lock.js";

const sides = ["write", "read"] as const;

/** Redisson's `RReadWriteLock`: writers of ours queue, readers come in when they are told. Re-entry is of this process only. */
export function readWriteRecipe(desk: RedisDesk, kind: PrimitiveKind): Recipe {
  const heartbeat = writeHeartbeats(desk);
  const renewal = readRenewals();
  const conflict = (name: string, found: string): LayoutConflictError =>
    new LayoutConflictError(`"${name}" is no ${kind}: its key holds a ${found}`, {
      lockName: name,
      backend: "redis",
    });
  return {
    attempt(request, key, listener) {
      if (request.mode === "exclusive") {
        const lock = writeLock(desk, heartbeat, request.name, key);
        return new QueuedAttempt(desk, [{ lock, request }], listener);
      }
      const lock = readLock(desk, renewal, request.name, key, desk.freshOwner());
      return new PolledAttempt(desk, lock, request, listener);
    },
    attemptBeside(write, read, listener) {
      const { spec } = write as RedisGrant;
      const lock = readLock(desk, renewal, spec.lock.name, spec.lock.key, spec.owner);
      const request = { ...read, permits: 1, mayWait: false };
      return new PolledAttempt(desk, { ...lock, beside: write as RedisGrant }, request, listener);
    },
    async inspect(name, key, options): Promise<LockSnapshot> {
      options.signal?.throwIfAborted();
      const layout = readWriteKeys(key);
      const { reply } = await desk.run({
        script: readWriteInspect,
        keys: mutexKeyList(layout),
        args: readWriteInspect.args({
          maxPending: options.maxPending ?? defaultMaxPending,
          holdPrefix: layout.holdPrefix,
        }),
      });
      // A reader that died stays in the hash for as long as others keep it.
      const holders = reply.holders.filter((holder) => holder.mode === "exclusive" || holder.pttlMs >= -1);
      const seen = lockSnapshot(desk, kind, name, { ...reply, holders });
      const held = seen.held.map((info) =>
        info.mode === "exclusive" ? { ...info, backendId: writerField(info.backendId) } : info,
      );
      // Readers that wait leave no trace, so nobody can say how many wait in all.
      return { ...seen, held, pendingTotal: null };
    },
    async requestRevoke(name, key) {
      let asked = false;
      for (const mode of sides) {
        const args = readWriteAsk.args({ mode });
        const { reply } = await desk.run({ script: readWriteAsk, keys: [key], args });
        if (reply.status === "conflict") throw conflict(name, reply.found);
        asked = asked || reply.status === "asked";
      }
      return asked;
    },
    async force(name, key) {
      for (const mode of sides) {
        const args = readWriteForce.args({
          mode,
          expected: "",
          publish: publishAlways(desk),
          channel: redissonChannels.readWrite(key),
        });
        const { reply } = await desk.run({
          script: readWriteForce,
          keys: mutexKeyList(readWriteKeys(key)),
          args,
        });
        if (reply.status === "conflict") throw conflict(name, reply.found);
        if (reply.status === "forced") return true;
      }
      return false;
    },
  };
}
