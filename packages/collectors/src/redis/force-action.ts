import {
  electionKeys,
  fairForce,
  fairKeyList,
  fairKeys,
  mutexForce,
  mutexKeyList,
  mutexKeys,
  ourChannels,
  permitKeyList,
  permitKeys,
  permitRelease,
  readWriteForce,
  redissonChannels,
} from "@holdfast/redis-recipes/internal";
import type { ActionRequest } from "../observe/collector.js";
import type { ObservedLock } from "../observe/observed-lock.js";
import { type ActionDesk, type Outcome, outcomeOf, unsupported } from "./action-desk.js";
import { guarded, guardedPermits } from "./action-scripts.js";
import { effectsOfForce, effectsOfPermit } from "./effects.js";
import { plainName } from "./key-names.js";
import type { LockRecord } from "./lock-record.js";

/** Frees the lock, or gives one permit back, whoever holds it. `lock`: as it was before. */
export async function force(
  desk: ActionDesk,
  request: ActionRequest,
  record: LockRecord,
  lock: ObservedLock,
): Promise<Outcome> {
  const { key, entry, expectedVersion, dryRun } = request;
  const { shape } = record;
  if (lock.kind === "permit-semaphore") return givePermit(desk, request);
  if (shape.is !== "lock")
    return unsupported(
      lock.kind === "semaphore"
        ? "Permits of a semaphore without leases belong to nobody: RSemaphore.addPermits() puts lost ones back."
        : "Nobody holds it.",
    );
  const fields = shape.fields.map(({ field }) => field);
  if (entry !== null && !fields.includes(entry)) return { outcome: "conflict", effects: [] };
  const effects = effectsOfForce(lock, fields);
  const publish = desk.publish;
  const mark = [dryRun ? "dry" : "act", expectedVersion];
  let reply: readonly unknown[];
  switch (lock.kind) {
    case "read-write-lock": {
      const { mode } = shape;
      const args = readWriteForce.args({
        mode: mode ?? "write",
        expected: "",
        publish,
        channel: redissonChannels.readWrite(key),
      });
      reply = await desk.eval(key, guarded(readWriteForce), mutexKeyList(mutexKeys(key)), [...args, ...mark]);
      break;
    }
    case "fair-mutex": {
      const args = fairForce.args({
        expected: "",
        waitMs: desk.fairLockWaitTimeoutMs,
        publish,
        channel: redissonChannels.mutex(key),
      });
      reply = await desk.eval(key, guarded(fairForce), fairKeyList(fairKeys(key)), [...args, ...mark]);
      break;
    }
    case "leader-election": {
      const name = plainName(key);
      const args = mutexForce.args({
        expected: "",
        publish: "none",
        channel: "",
        changes: ourChannels.election(name),
      });
      const keys = mutexKeyList(electionKeys(name));
      reply = await desk.eval(key, guarded(mutexForce), keys, [...args, ...mark]);
      break;
    }
    default: {
      const args = mutexForce.args({
        expected: "",
        publish,
        channel: redissonChannels.mutex(key),
        changes: "",
      });
      reply = await desk.eval(key, guarded(mutexForce), mutexKeyList(mutexKeys(key)), [...args, ...mark]);
    }
  }
  return outcomeOf(reply, "forced", effects);
}

async function givePermit(desk: ActionDesk, request: ActionRequest): Promise<Outcome> {
  const { key, entry, dryRun, expectedVersion } = request;
  if (entry === null) return unsupported("Say which permit: each is a hold of its own.");
  if (!/^[0-9a-f]{32}$/.test(entry))
    return unsupported("That is no id of a permit that can be given back here.");
  const keys = permitKeyList(permitKeys(key));
  const args = permitRelease.args({
    publish: desk.publish,
    channel: redissonChannels.semaphore(key),
    ids: [entry],
  });
  const mark = [dryRun ? "dry" : "act", expectedVersion];
  // Behind how to publish and the channel.
  const script = guardedPermits(permitRelease, 3);
  return outcomeOf(
    await desk.eval(key, script, keys, [...args, ...mark]),
    "released",
    effectsOfPermit(entry),
  );
}
