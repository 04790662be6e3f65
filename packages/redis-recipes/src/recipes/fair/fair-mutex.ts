import { redissonChannels } from "../../layout/channels.js";
import { fairKeyList, fairKeys } from "../../layout/keys.js";
import { fairAcquire } from "../../scripts/fair/acquire.js";
import { fairCancel } from "../../scripts/fair/cancel.js";
import { fairHeartbeat } from "../../scripts/fair/heartbeat.js";
import { type FairEndArgs, fairRelease } from "../../scripts/fair/release.js";
import type { StandAnswer } from "../../scripts/mutex/answers.js";
import type { HeartbeatEntry } from "../../scripts/mutex/heartbeat.js";
import { heartbeatCommon, heartbeatLimit } from "../batch-kinds.js";
import type { BatchKind } from "../batches.js";
import type { RedisDesk } from "../desk.js";
import type { ExclusiveLock } from "../exclusive-lock.js";
import { publishAlways } from "../publish-how.js";

export function fairHeartbeats(desk: RedisDesk): BatchKind<HeartbeatEntry, StandAnswer> {
  return {
    script: fairHeartbeat,
    args: (entries, keys) =>
      fairHeartbeat.args(
        { ...heartbeatCommon(desk, keys), waitMs: desk.settings.fairLockWaitTimeoutMs },
        entries,
      ),
    limit: heartbeatLimit,
  };
}

/**
 * Redisson's `RFairLock`: its queue and its deadlines, so that arrival order holds across Java too. There is no hand-off: a release
 * tells the head of the queue, which takes the lock itself.
 */
export function fairLock(
  desk: RedisDesk,
  heartbeat: BatchKind<HeartbeatEntry, StandAnswer>,
  name: string,
  key: string,
): ExclusiveLock {
  const keys = fairKeyList(fairKeys(key));
  const { settings } = desk;
  const ending = (owner: string): FairEndArgs => ({
    owner,
    waitMs: settings.fairLockWaitTimeoutMs,
    publish: publishAlways(desk),
    channel: redissonChannels.mutex(key),
  });
  return {
    name,
    key,
    keys,
    renewKeys: keys.slice(0, 2),
    heartbeat,
    renewal: desk.kinds.renewal,
    acquire: (standing) => ({
      script: fairAcquire,
      keys,
      args: fairAcquire.args({
        ...standing,
        aliveMs: settings.aliveMs,
        tokenTtlMs: settings.tokenTtlMs,
        waitMs: settings.fairLockWaitTimeoutMs,
      }),
    }),
    release: (owner) => ({ script: fairRelease, keys, args: fairRelease.args(ending(owner)) }),
    // The lease is no part of an entry in Redisson's queue.
    cancel: (owner) => ({ script: fairCancel, keys, args: fairCancel.args(ending(owner)) }),
    fieldOf: (owner) => owner,
    // In every place: a waiter may become the head by the end of those in front of it.
    channelFor: (owner) => redissonChannels.fairWaiter(key, owner),
  };
}
