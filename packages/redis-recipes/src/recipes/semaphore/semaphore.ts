import type { Millis } from "@holdfast/core";
import { redissonChannels } from "../../layout/channels.js";
import { semaphoreKeys } from "../../layout/keys.js";
import { mappedScript } from "../../scripts/mapped-script.js";
import type { RenewAnswer, RenewEntry } from "../../scripts/mutex/renew.js";
import { semaphoreGive } from "../../scripts/semaphore/give.js";
import { semaphoreRenew } from "../../scripts/semaphore/renew.js";
import { semaphoreTake } from "../../scripts/semaphore/take.js";
import { renewalLimit } from "../batch-kinds.js";
import type { BatchKind } from "../batches.js";
import type { RedisDesk } from "../desk.js";
import type { PolledAnswer, PolledEnd, PolledLock } from "../polled-lock.js";
import { publishAlways } from "../publish-how.js";
import { cappedSleepMs } from "../wake-rooms.js";
import type { PermitWishes } from "./permit-wishes.js";

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

type TakeArguments = Parameters<typeof semaphoreTake.args>[0];

const take = mappedScript(semaphoreTake, (answer): PolledAnswer => {
  const { status, serverMs } = answer;
  if (status === "busy") return { status, serverMs, againMs: null };
  // Nothing ends by itself at the server: the lease is what the holder wants it to be.
  return status === "granted" ? { status, serverMs, token: answer.token, pttlMs: Infinity } : answer;
});

const give = mappedScript(
  semaphoreGive,
  ({ status, serverMs }): PolledEnd => ({ serverMs, ended: status === "given" }),
);

export function markerRenewals(): BatchKind<RenewEntry, RenewAnswer> {
  return {
    script: semaphoreRenew,
    args: (entries) => semaphoreRenew.args({ extraMs: markerExtraMs }, entries),
    limit: renewalLimit,
  };
}

/**
 * Redisson's `RSemaphore`: a number and nothing else, so the permits of a process that dies are lost until somebody adds them again. The
 * first take sets the number where there is none. Each take has a marker key of ours beside it, which is renewed like a lease: it
 * makes a take and its give-back exact over lost answers, and tells a holder whose take somebody has undone.
 */
export function semaphoreTakes(
  desk: RedisDesk,
  renewal: BatchKind<RenewEntry, RenewAnswer>,
  name: string,
  key: string,
  asked: Pick<TakeArguments, "permits" | "initial">,
  wishes: PermitWishes,
): PolledLock {
  const layout = semaphoreKeys(key);
  const owner = desk.freshOwner();
  const marker = layout.markerPrefix + owner;
  const channel = redissonChannels.semaphore(key);
  return {
    name,
    key,
    what: "semaphore",
    owner,
    field: owner,
    permitIds: Array.from({ length: Math.min(asked.permits, mostShown) }, (_, i) => `${owner}/${i}`),
    sharing: "any",
    renewal,
    renewKeys: [layout.permits, layout.token, marker],
    tryOnce: (standing) => ({
      script: take,
      keys: [layout.permits, layout.token, marker],
      args: semaphoreTake.args({
        ...asked,
        owner,
        notAfterMs: standing.notAfterMs,
        floor: standing.floor,
        tokenTtlMs: desk.settings.tokenTtlMs,
        markerMs: standing.leaseMs + markerExtraMs,
      }),
    }),
    end: () => ({
      script: give,
      keys: [layout.permits, marker],
      args: semaphoreGive.args({
        permits: asked.permits,
        markerMs: endedMs,
        publish: publishAlways(desk),
        channel,
      }),
    }),
    channel: { name: channel, rule: "counted" },
    wishes,
    sleepMs: () => cappedSleepMs(desk.runtime),
    outlivesLease: true,
  };
}
