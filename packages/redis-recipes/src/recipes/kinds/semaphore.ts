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
 * How long it is remembered that a take has ended, so that a late copy of it takes nothing. The script refuses copies of more than some
 * seconds by the server's clock; this is for those sent before that clock was known, and outlasts every connection that could carry one.
 */
const endedMs: Millis = 60_000;
/**
 * A marker outlives the lease by that, so that a process that was out of touch or asleep for less gives back what it had. Without its
 * marker nothing is given back: a server that has lost the one may have lost the take as well, and one permit too many is worse
 * than one too few.
 */
const markerExtraMs: Millis = 24 * 3_600_000;

/** So many permits have ids and are shown at most; more are counted only. Where a permit is a byte, a take has millions. */
export const mostShown = 10_000;

const take = mappedScript(semaphoreTake, (answer): PolledAnswer => {
  const { status, serverMs } = answer;
  if (status === "busy") return { status, serverMs, againMs: null };
  // Nothing ends by itself at the server: the lease is what the holder wants it to be.
  return status === "granted" ? { status, serverMs, token: answer.token, pttlMs: Infinity } : answer;
});

const give = endsBy(semaphoreGive, "given");

const ask = mappedScript(
  semaphoreAsk,
  ({ heard, serverMs }): RevokeReply => ({ serverMs, status: heard > 0 ? "asked" : "free" }),
);

/**
 * Whether any client heard it. In a cluster without sharded channels a server counts its own listeners alone, and it may say no in
 * vain.
 */
export const revokePermits: RedisKind["requestRevoke"] = ({ key }, { publish, settings }) => {
  const command = publish === "spublish" ? publish : "publish";
  return boundCall(ask, [key], { channel: ourChannels.permitsWanted(key, settings.db), command });
};

/** Its renewals and takes, with the marker of one take. */
function takeKeys({ keys, owner }: PolledOwner): readonly string[] {
  return [...keys.renewKeys, keys.ownerPrefix + owner];
}

/**
 * Redisson's `RSemaphore`: a number and nothing else, so the permits of a process that dies are lost until a client adds them again. The
 * first take sets the number where there is none. Each take has a marker key of ours beside it, which is renewed like a lease: with it a
 * take and its give-back stay exact when answers are lost, and a holder notices that another client has undone its take.
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
    outlivesLease: true,
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
