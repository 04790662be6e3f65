import { redissonChannels } from "../../layout/channels.js";
import { fairKeyList, fairKeys } from "../../layout/keys.js";
import { fairAcquire } from "../../scripts/fair/acquire.js";
import { fairCancel } from "../../scripts/fair/cancel.js";
import { fairForce } from "../../scripts/fair/force.js";
import { fairHeartbeat } from "../../scripts/fair/heartbeat.js";
import { fairRelease } from "../../scripts/fair/release.js";
import { fairInspect } from "../../scripts/inspect/fair.js";
import { boundCall } from "../requests/calls.js";
import { type FieldsKind, heartbeats, lockKeys, passingArgs } from "./kind.js";
import { mutex } from "./mutex.js";

/** An entry costs more than one of a mutex, and a call may also have to take the dead out of a long queue. */
export const fairHeartbeatLimit = 100;
/** So many owners leave a fair queue in one pass over it. A provider that closes with 2,000 waiters makes 8 passes. */
export const cancelLimit = 250;

const heartbeat = heartbeats(fairHeartbeat, { limit: fairHeartbeatLimit });

/**
 * Redisson's `RFairLock`, with its queue and its deadlines, so that arrival order holds across Java too. There is no hand-off: a
 * release sends a message to the head of the queue, which takes the lock itself.
 */
export const fairMutex: FieldsKind = {
  keysOf(name) {
    const keys = fairKeyList(fairKeys(name));
    return lockKeys({ key: name, keys, channel: redissonChannels.mutex(name) });
  },
  queued: {
    acquire: fairAcquire,
    heartbeat: () => heartbeat,
    release: fairRelease,
    // The lease is not part of an entry in Redisson's queue.
    cancel: {
      script: fairCancel,
      args: (entries, _keys, { settings, publish }) =>
        fairCancel.args({ waitMs: settings.fairLockWaitTimeoutMs, publish }, entries),
      limit: cancelLimit,
    },
    endArgs: passingArgs,
    // Every waiter listens, whatever its place: it becomes the head when those in front of it end.
    channelFor: ({ key }, owner) => redissonChannels.fairWaiter(key, owner),
  },
  hidesWaiters: false,
  look: fairInspect,
  requestRevoke: mutex.requestRevoke,
  force: ({ keys, channel }, { publish, settings: { fairLockWaitTimeoutMs: waitMs } }) =>
    boundCall(fairForce, keys, { expected: "", waitMs, publish, channel }),
};
