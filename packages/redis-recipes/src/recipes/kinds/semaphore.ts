import type { Millis } from "@holdfast/core";
import { ourChannels, redissonChannels } from "../../layout/channels.js";
import { semaphoreKeys } from "../../layout/keys.js";
import { mappedScript } from "../../scripts/mapped-script.js";
import { semaphoreAsk } from "../../scripts/semaphore/ask.js";
import { semaphoreGive } from "../../scripts/semaphore/give.js";
import { semaphoreRenew } from "../../scripts/semaphore/renew.js";
import { semaphoreTake } from "../../scripts/semaphore/take.js";
import { boundCall } from "../requests/calls.js";
import {
  endsBy,
  lockKeys,
  type PolledAnswer,
  type PolledOwner,
  type RedisKind,
  type RevokeReply,
  renewals,
} from "./kind.js";

/**
 * How long the marker of an ended take is kept, so that a late copy of the take takes nothing. The script itself refuses copies
 * that are more than some seconds old by the server's clock. The marker is for copies that were sent before that clock was known,
 * and outlasts every connection that could carry one.
 */
const endedMs: Millis = 60_000;
/**
 * How much longer a marker lives than the lease. A process that was out of touch or asleep for less than this still gives back
 * what it had. Without its marker nothing is given back: a server that has lost the marker may have lost the take as well, and
 * one permit too many is worse than one too few.
 */
const markerExtraMs: Millis = 24 * 3_600_000;

/**
 * At most this many permits of a take have ids and are shown; more are only counted. A take may have millions of permits, if one
 * stands for a byte.
 */
export const mostShown = 10_000;

const take = mappedScript(semaphoreTake, (answer): PolledAnswer => {
  const { status, serverMs } = answer;
  if (status === "busy") return { status, serverMs, againMs: null };
  // Nothing ends by itself at the server, so the holder decides the length of the lease.
  return status === "granted" ? { status, serverMs, token: answer.token, pttlMs: Infinity } : answer;
});

const give = endsBy(semaphoreGive, "given");

const ask = mappedScript(
  semaphoreAsk,
  ({ heard, serverMs }): RevokeReply => ({ serverMs, status: heard > 0 ? "asked" : "free" }),
);

/**
 * Asks all holders of permits to release. `asked` if any client received the message. In a cluster without sharded channels a
 * server counts only its own listeners, so the answer may be `free` although a client received it.
 */
export const revokePermits: RedisKind["requestRevoke"] = ({ key }, { publish, settings }) => {
  const command = publish === "spublish" ? publish : "publish";
  return boundCall(ask, [key], { channel: ourChannels.permitsWanted(key, settings.db), command });
};

/** The keys of takes and renewals, with the marker of this take. */
function takeKeys({ keys, owner }: PolledOwner): readonly string[] {
  return [...keys.renewKeys, keys.ownerPrefix + owner];
}

/**
 * Redisson's `RSemaphore`: one number and nothing else, so the permits of a process that dies are lost until a client adds them
 * again. The first take sets the number where there is none. Each take has a marker key of ours, which is renewed like a lease.
 * With it a take and its give-back stay exact when answers are lost, and a holder notices that another client has undone its
 * take.
 */
export const semaphore: RedisKind = {
  keysOf(name) {
    const { permits, token, markerPrefix } = semaphoreKeys(name);
    const channel = redissonChannels.semaphore(name);
    return lockKeys({ key: name, keys: [permits, token], channel }, { ownerPrefix: markerPrefix });
  },
  polled: {
    what: "semaphore",
    sharing: "any",
    renewal: renewals(semaphoreRenew, { extraMs: markerExtraMs }),
    wakes: "counted",
    askedByChannel: true,
    outlivesLeaseMs: markerExtraMs,
    permitIds: (owner, permits) =>
      Array.from({ length: Math.min(permits, mostShown) }, (_, i) => `${owner}/${i}`),
    renewKeys: takeKeys,
    take: (asking, request, { settings: { tokenTtlMs } }) => {
      const { permits, limit: initial } = asking;
      const markerMs = request.leaseMs + markerExtraMs;
      return boundCall(take, takeKeys(asking), { ...request, permits, initial, tokenTtlMs, markerMs });
    },
    end: ({ keys: { key, ownerPrefix, channel }, owner, permits }, { publish }) =>
      boundCall(give, [key, ownerPrefix + owner], { permits, markerMs: endedMs, publish, channel }),
  },
  hidesWaiters: true,
  requestRevoke: revokePermits,
};
