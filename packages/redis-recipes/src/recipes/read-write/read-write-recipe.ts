import { LayoutConflictError, type LockSnapshot, type PrimitiveKind } from "@holdfast/core";
import { redissonChannels } from "../../layout/channels.js";
import { mutexKeyList, readWriteKeys } from "../../layout/keys.js";
import { writerField } from "../../layout/owners.js";
import { readWriteInspect } from "../../scripts/inspect/read-write.js";
import { readWriteAsk } from "../../scripts/read-write/ask.js";
import { readWriteForce } from "../../scripts/read-write/force.js";
import type { RedisDesk } from "../desk.js";
import { ExclusiveTicket } from "../exclusive-ticket.js";
import { defaultMaxPending, lockSnapshot } from "../inspect-mutex.js";
import { requestPolled } from "../polled-lock.js";
import { publishAlways } from "../publish-how.js";
import type { Recipe } from "../recipe.js";
import type { RedisHold } from "../redis-hold.js";
import { readBeside, readLock, readRenewals } from "./read-lock.js";
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
    request(request, key, progress) {
      if (request.mode === "exclusive") {
        return new ExclusiveTicket(desk, writeLock(desk, heartbeat, request.name, key), request, progress);
      }
      const lock = readLock(desk, renewal, request.name, key, desk.freshOwner());
      return requestPolled(desk, lock, request, progress);
    },
    downgrade: (write, read) => readBeside(desk, renewal, write as RedisHold, read),
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
