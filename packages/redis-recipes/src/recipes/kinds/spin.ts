import type { Millis, Runtime } from "@holdfast/core";
import { mappedScript } from "../../scripts/mapped-script.js";
import { spinAcquire } from "../../scripts/spin/acquire.js";
import { spinRelease } from "../../scripts/spin/release.js";
import { boundCall } from "../requests/calls.js";
import { endsBy, type FieldsKind, fieldRenewals, type PolledAnswer } from "./kind.js";
import { mutex } from "./mutex.js";

const longestSleepMs: Millis = 128;

/**
 * From 1 ms, doubled each time up to 128 ms, as Redisson's exponential back-off, and spread so that clients do not ask in step.
 */
function spinSleepMs(runtime: Runtime, refusals: number): Millis {
  const cappedMs = Math.min(longestSleepMs, 2 ** Math.min(refusals - 1, 7));
  return cappedMs * (0.5 + runtime.random());
}

const acquire = mappedScript(spinAcquire, (answer): PolledAnswer => {
  if (answer.status !== "busy" && answer.status !== "queued") return answer;
  return { status: "busy", serverMs: answer.serverMs, againMs: null };
});

const release = endsBy(spinRelease, "freed");

const { queued: _queued, ...hash } = mutex;

/**
 * Redisson's `RSpinLock`: the hash of the plain mutex, without awaiting messages. For set-ups in which pub/sub does not work. The
 * only message that it sends is the wish for a lock that may be kept.
 */
export const spinMutex: FieldsKind = {
  ...hash,
  polled: {
    what: "spin-mutex",
    sharing: "none",
    renewal: fieldRenewals,
    wakes: null,
    sleepMs: spinSleepMs,
    take: ({ keys }, request, { settings: { tokenTtlMs } }) =>
      boundCall(acquire, keys.renewKeys, { ...request, tokenTtlMs }),
    end: ({ keys, owner }) => boundCall(release, [keys.key], { owner }),
  },
  // Clients that wait for it leave no trace. Clients that wait for a plain mutex of the same name are shown.
  hidesWaiters: true,
};
