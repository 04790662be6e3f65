import { redissonChannels } from "../layout/channels.js";
import { mutexKeyList, mutexKeys } from "../layout/keys.js";
import { isOurs } from "../layout/owners.js";
import { mutexAcquire } from "../scripts/mutex/acquire.js";
import type { Queued } from "../scripts/mutex/answers.js";
import { mutexCancel } from "../scripts/mutex/cancel.js";
import { mutexRelease, type PassArgs } from "../scripts/mutex/release.js";
import type { RedisDesk } from "./desk.js";
import type { ExclusiveLock } from "./exclusive-lock.js";

/**
 * While a wait stands first and Java holds, it listens to Redisson's channel as well: Java's release tells nobody else of ours. Those
 * further back do not, so that one message costs one request.
 */
export function listensToJava(place: Queued): boolean {
  return place.position === 0 && place.holder !== "" && !isOurs(place.holder);
}

/** What every script needs that may pass a lock on. */
export function passArgsOf(desk: RedisDesk, channel: string): PassArgs {
  const { settings } = desk;
  return {
    claimMs: settings.claimLeaseMs,
    aliveMs: settings.aliveMs,
    // Java is given its chance after so many hand-offs among ours; a fleet without Java needs none.
    maxDirectRun: settings.javaPeers ? settings.maxDirectRun : -1,
    tokenTtlMs: settings.tokenTtlMs,
    publish: desk.line.publishCommand,
    channel,
    changes: "",
  };
}

/** The plain mutex and the re-entrant one: on the wire they are the same. `key`: the name as it is in Redis. */
export function mutexLock(desk: RedisDesk, name: string, key: string): ExclusiveLock {
  const keys = mutexKeyList(mutexKeys(key));
  const token = keys[1] as string;
  const channel = redissonChannels.mutex(key);
  const { settings } = desk;
  return {
    name,
    key,
    keys,
    sharing: "none",
    renewKeys: [key, token],
    heartbeat: desk.kinds.mutexHeartbeat,
    renewal: desk.kinds.renewal,
    acquire: (standing) => ({
      script: mutexAcquire,
      keys,
      args: mutexAcquire.args({
        ...standing,
        aliveMs: settings.aliveMs,
        tokenTtlMs: settings.tokenTtlMs,
        changes: "",
      }),
    }),
    release: (owner) => ({
      script: mutexRelease,
      keys,
      args: mutexRelease.args({ owner, ...passArgsOf(desk, channel) }),
    }),
    cancel: (owner, leaseMs) => ({
      script: mutexCancel,
      keys,
      args: mutexCancel.args({ owner, leaseMs, ...passArgsOf(desk, channel) }),
    }),
    fieldOf: (owner) => owner,
    channelFor: (_owner, place) => (listensToJava(place) ? channel : null),
  };
}
