import { ourChannels, redissonChannels } from "../../layout/channels.js";
import { electionKeys, mutexKeyList } from "../../layout/keys.js";
import { mutexAcquire } from "../../scripts/mutex/acquire.js";
import type { StandAnswer } from "../../scripts/mutex/answers.js";
import { mutexCancel } from "../../scripts/mutex/cancel.js";
import { type HeartbeatEntry, mutexHeartbeat } from "../../scripts/mutex/heartbeat.js";
import { mutexRelease, type PassArgs } from "../../scripts/mutex/release.js";
import { heartbeatCommon, heartbeatLimit } from "../batch-kinds.js";
import type { BatchKind } from "../batches.js";
import type { RedisDesk } from "../desk.js";
import type { ExclusiveLock } from "../exclusive-lock.js";

export function electionHeartbeat(desk: RedisDesk, key: string): BatchKind<HeartbeatEntry, StandAnswer> {
  const changes = ourChannels.election(key);
  return {
    script: mutexHeartbeat,
    args: (entries, keys) => mutexHeartbeat.args({ ...heartbeatCommon(desk, keys), changes }, entries),
    limit: heartbeatLimit,
  };
}

/**
 * Leadership, which Redisson does not have: a mutex of ours at `holdfast_election:{name}` whose changes are told on a channel of their
 * own. No Java client stands for it, so runs of hand-offs need no bound.
 */
export function electionLock(
  desk: RedisDesk,
  heartbeat: BatchKind<HeartbeatEntry, StandAnswer>,
  name: string,
  key: string,
): ExclusiveLock {
  const layout = electionKeys(key);
  const keys = mutexKeyList(layout);
  const changes = ourChannels.election(key);
  const { settings } = desk;
  const passing: PassArgs = {
    claimMs: settings.claimLeaseMs,
    aliveMs: settings.aliveMs,
    maxDirectRun: -1,
    tokenTtlMs: settings.tokenTtlMs,
    publish: "none",
    channel: redissonChannels.mutex(layout.lock),
    changes,
  };
  return {
    name,
    key: layout.lock,
    keys,
    sharing: "none",
    renewKeys: keys.slice(0, 2),
    heartbeat,
    renewal: desk.kinds.renewal,
    acquire: (standing) => ({
      script: mutexAcquire,
      keys,
      args: mutexAcquire.args({
        ...standing,
        aliveMs: settings.aliveMs,
        tokenTtlMs: settings.tokenTtlMs,
        changes,
      }),
    }),
    release: (owner) => ({ script: mutexRelease, keys, args: mutexRelease.args({ owner, ...passing }) }),
    cancel: (owner, leaseMs) => ({
      script: mutexCancel,
      keys,
      args: mutexCancel.args({ owner, leaseMs, ...passing }),
    }),
    fieldOf: (owner) => owner,
    channelFor: () => null,
  };
}
