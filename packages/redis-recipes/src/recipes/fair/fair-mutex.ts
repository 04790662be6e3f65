import { redissonChannels } from "../../layout/channels.js";
import { fairKeyList, fairKeys } from "../../layout/keys.js";
import { fairAcquire } from "../../scripts/fair/acquire.js";
import { type FairCancelEntry, fairCancel } from "../../scripts/fair/cancel.js";
import { fairHeartbeat } from "../../scripts/fair/heartbeat.js";
import { fairRelease } from "../../scripts/fair/release.js";
import type { StandAnswer } from "../../scripts/mutex/answers.js";
import type { CancelAnswer } from "../../scripts/mutex/cancel.js";
import type { HeartbeatEntry } from "../../scripts/mutex/heartbeat.js";
import { cancelLimit, fairHeartbeatLimit, heartbeatCommon } from "../batch-kinds.js";
import type { BatchKind } from "../batches.js";
import type { RedisDesk } from "../desk.js";
import type { ExclusiveLock } from "../exclusive-lock.js";
import { publishAlways } from "../publish-how.js";

export interface FairBatches {
  readonly heartbeat: BatchKind<HeartbeatEntry, StandAnswer>;
  readonly cancel: BatchKind<FairCancelEntry, CancelAnswer>;
}

export function fairBatches(desk: RedisDesk): FairBatches {
  const waitMs = desk.settings.fairLockWaitTimeoutMs;
  return {
    heartbeat: {
      script: fairHeartbeat,
      args: (entries, keys) => fairHeartbeat.args({ ...heartbeatCommon(desk, keys), waitMs }, entries),
      limit: fairHeartbeatLimit,
    },
    cancel: {
      script: fairCancel,
      args: (entries) => fairCancel.args({ waitMs, publish: publishAlways(desk) }, entries),
      limit: cancelLimit,
    },
  };
}

/**
 * Redisson's `RFairLock`: its queue and its deadlines, so that arrival order holds across Java too. There is no hand-off: a release
 * tells the head of the queue, which takes the lock itself.
 */
export function fairLock(desk: RedisDesk, batches: FairBatches, name: string, key: string): ExclusiveLock {
  const keys = fairKeyList(fairKeys(key));
  const { settings } = desk;
  const channel = redissonChannels.mutex(key);
  return {
    name,
    key,
    keys,
    sharing: "none",
    renewKeys: keys.slice(0, 2),
    heartbeat: batches.heartbeat,
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
    release: (owner) => ({
      script: fairRelease,
      keys,
      args: fairRelease.args({
        owner,
        waitMs: settings.fairLockWaitTimeoutMs,
        publish: publishAlways(desk),
        channel,
      }),
    }),
    // The lease is no part of an entry in Redisson's queue.
    cancel: (owner) => ({ kind: batches.cancel, keys, entry: { owner, channel } }),
    fieldOf: (owner) => owner,
    // In every place: a waiter may become the head by the end of those in front of it.
    channelFor: (owner) => redissonChannels.fairWaiter(key, owner),
  };
}
