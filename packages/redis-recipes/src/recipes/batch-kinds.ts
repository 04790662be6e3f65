import type { StandAnswer } from "../scripts/mutex/answers.js";
import { type HeartbeatArgs, type HeartbeatEntry, mutexHeartbeat } from "../scripts/mutex/heartbeat.js";
import { type RenewAnswer, type RenewEntry, renew } from "../scripts/mutex/renew.js";
import type { BatchKind } from "./batches.js";
import type { RedisDesk } from "./desk.js";

/** 10,000 waits are 50 calls of some milliseconds each, be they for one lock or for many. */
export const heartbeatLimit = 200;
/** Of fair locks: an entry costs more, and a call may have to take the dead out of a long line besides. */
export const fairHeartbeatLimit = 100;
/** 10,000 holds are 20 calls. */
export const renewalLimit = 500;

/** So many leave a fair queue in one pass over it: a provider that closes with 2,000 waiters makes 4 passes. */
export const cancelLimit = 500;

export interface BatchKinds {
  /** Mutex, fair and spin lock, leadership, and the write side by its field. */
  readonly renewal: BatchKind<RenewEntry, RenewAnswer>;
  readonly mutexHeartbeat: BatchKind<HeartbeatEntry, StandAnswer>;
}

/** What a heartbeat of any kind says beside its entries. */
export function heartbeatCommon(desk: RedisDesk, keys: readonly string[]): Omit<HeartbeatArgs, "changes"> {
  const { aliveMs, claimLeaseMs, tokenTtlMs } = desk.settings;
  const notAfterMs = desk.notAfterMs(desk.line.masterOf(keys[0] as string));
  return { aliveMs, claimMs: claimLeaseMs, notAfterMs, tokenTtlMs };
}

export function batchKinds(desk: RedisDesk): BatchKinds {
  return {
    renewal: { script: renew, args: (entries) => renew.args(null, entries), limit: renewalLimit },
    mutexHeartbeat: {
      script: mutexHeartbeat,
      args: (entries, keys) => mutexHeartbeat.args({ ...heartbeatCommon(desk, keys), changes: "" }, entries),
      limit: heartbeatLimit,
    },
  };
}
