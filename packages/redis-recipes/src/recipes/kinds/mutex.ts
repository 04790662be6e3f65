import { redissonChannels } from "../../layout/channels.js";
import { mutexKeys } from "../../layout/keys.js";
import { mutexInspect } from "../../scripts/inspect/mutex.js";
import { mutexAcquire } from "../../scripts/mutex/acquire.js";
import { mutexAsk } from "../../scripts/mutex/ask.js";
import { mutexCancel } from "../../scripts/mutex/cancel.js";
import { mutexForce } from "../../scripts/mutex/force.js";
import { mutexHeartbeat } from "../../scripts/mutex/heartbeat.js";
import { mutexRelease } from "../../scripts/mutex/release.js";
import { boundCall } from "../requests/calls.js";
import {
  type FieldsKind,
  heartbeats,
  listensToJava,
  passingArgs,
  type QueuedScripts,
  queueKeys,
  stayKeys,
} from "./kind.js";

const heartbeat = heartbeats(mutexHeartbeat);

/** Redisson's `RLock`: mutex and re-entrant mutex, which differ only in this process. */
export const mutex: FieldsKind & { readonly queued: QueuedScripts } = {
  keysOf(name) {
    const layout = mutexKeys(name);
    const { lock, token, waiters, alive, run } = layout;
    const lookKeys = [lock, token, waiters, alive, `${run}:none`];
    return queueKeys(layout, redissonChannels.mutex(name), { lookKeys });
  },
  queued: {
    acquire: mutexAcquire,
    heartbeat: () => heartbeat,
    release: mutexRelease,
    cancel: mutexCancel,
    endArgs: passingArgs,
    stayKeys,
    channelFor: ({ channel }, _owner, place) => (listensToJava(place) ? channel : null),
  },
  hidesWaiters: false,
  look: mutexInspect,
  requestRevoke: ({ key }) => boundCall(mutexAsk, [key], null),
  force: ({ keys, channel, changes }, { publish }) =>
    boundCall(mutexForce, keys, { expected: "", publish, channel, changes }),
};
