import { redissonChannels } from "../../layout/channels.js";
import { mutexKeyList, readWriteKeys } from "../../layout/keys.js";
import { writerField } from "../../layout/owners.js";
import type { StandAnswer } from "../../scripts/mutex/answers.js";
import type { HeartbeatEntry } from "../../scripts/mutex/heartbeat.js";
import type { PassArgs } from "../../scripts/mutex/release.js";
import { writeAcquire } from "../../scripts/read-write/write-acquire.js";
import { writeCancel } from "../../scripts/read-write/write-cancel.js";
import { writeHeartbeat } from "../../scripts/read-write/write-heartbeat.js";
import { type TurnArgs, writeRelease } from "../../scripts/read-write/write-release.js";
import { heartbeatCommon, heartbeatLimit } from "../batch-kinds.js";
import type { BatchKind } from "../batches.js";
import type { RedisDesk } from "../desk.js";
import type { ExclusiveLock } from "../exclusive-lock.js";
import { listensToJava, passArgsOf } from "../mutex.js";
import { publishAlways } from "../publish-how.js";

/** What every script needs that may end a hold of a read-write lock. Our own readers listen to Redisson's channel. */
export function endArgsOf(desk: RedisDesk, key: string): PassArgs & TurnArgs {
  const { settings } = desk;
  return {
    ...passArgsOf(desk, redissonChannels.readWrite(key)),
    // Readers get their turn in any fleet: while writers hand over among themselves, none of them would come in.
    maxDirectRun: settings.maxDirectRun,
    publish: publishAlways(desk),
    readersTurnMs: readersTurnMs(settings.heartbeatMs),
  };
}

/** Long enough for a message to be heard and answered, short enough for a writer to come next; a heartbeat finds the end of it. */
function readersTurnMs(heartbeatMs: number): number {
  return Math.max(50, Math.round(heartbeatMs / 4));
}

export function writeHeartbeats(desk: RedisDesk): BatchKind<HeartbeatEntry, StandAnswer> {
  return {
    script: writeHeartbeat,
    args: (entries, keys) => writeHeartbeat.args({ ...heartbeatCommon(desk, keys), changes: "" }, entries),
    limit: heartbeatLimit,
  };
}

/** The write side of Redisson's `RReadWriteLock`, with our queue and hand-off among writers of ours. */
export function writeLock(
  desk: RedisDesk,
  heartbeat: BatchKind<HeartbeatEntry, StandAnswer>,
  name: string,
  key: string,
): ExclusiveLock {
  const layout = readWriteKeys(key);
  const keys = mutexKeyList(layout);
  const { settings } = desk;
  const channel = redissonChannels.readWrite(key);
  return {
    name,
    key,
    keys,
    sharing: "none",
    renewKeys: keys.slice(0, 2),
    heartbeat,
    renewal: desk.kinds.renewal,
    acquire: (standing) => ({
      script: writeAcquire,
      keys,
      args: writeAcquire.args({
        ...standing,
        aliveMs: settings.aliveMs,
        tokenTtlMs: settings.tokenTtlMs,
        changes: "",
      }),
    }),
    release: (owner) => ({
      script: writeRelease,
      keys,
      args: writeRelease.args({ owner, ...endArgsOf(desk, key) }),
    }),
    cancel: (owner, leaseMs) => ({
      script: writeCancel,
      keys,
      args: writeCancel.args({ owner, leaseMs, ...endArgsOf(desk, key) }),
    }),
    fieldOf: writerField,
    // Readers are not named: some of them may be Java's, whose releases tell nobody else.
    channelFor: (_owner, place) =>
      listensToJava(place) || (place.position === 0 && place.holder === "") ? channel : null,
  };
}
