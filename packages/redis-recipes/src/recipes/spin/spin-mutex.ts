import type { Millis, Runtime } from "@holdfast/core";
import { mutexKeys } from "../../layout/keys.js";
import { mappedScript } from "../../scripts/mapped-script.js";
import { spinAcquire } from "../../scripts/spin/acquire.js";
import { spinRelease } from "../../scripts/spin/release.js";
import type { RedisDesk } from "../desk.js";
import type { PolledAnswer, PolledEnd, PolledLock } from "../polled-lock.js";

const longestSleepMs: Millis = 128;

/** From 1 ms, twice as long each time, up to 128 ms, as Redisson's exponential back-off; spread, so that clients do not ask in step. */
export function spinSleepMs(runtime: Runtime, refusals: number): Millis {
  const cappedMs = Math.min(longestSleepMs, 2 ** Math.min(refusals - 1, 7));
  return cappedMs * (0.5 + runtime.random());
}

const acquire = mappedScript(spinAcquire, (answer): PolledAnswer => {
  switch (answer.status) {
    case "granted":
    case "late":
    case "conflict":
      return answer;
    default:
      return { status: "busy", serverMs: answer.serverMs, againMs: null };
  }
});

const release = mappedScript(
  spinRelease,
  ({ status, serverMs }): PolledEnd => ({ serverMs, ended: status === "freed" }),
);

/** Redisson's `RSpinLock`: the hash of the plain mutex, without messages either way. For set-ups in which pub/sub does not get through. */
export function spinLock(desk: RedisDesk, name: string, key: string): PolledLock {
  const { token } = mutexKeys(key);
  const owner = desk.freshOwner();
  const keys = [key, token];
  const { tokenTtlMs } = desk.settings;
  return {
    name,
    key,
    what: "spin-mutex",
    owner,
    field: owner,
    permitIds: [],
    sharing: "none",
    renewal: desk.kinds.renewal,
    renewKeys: keys,
    tryOnce: (standing) => ({
      script: acquire,
      keys,
      args: spinAcquire.args({ ...standing, tokenTtlMs }),
    }),
    end: () => ({ script: release, keys: [key], args: spinRelease.args({ owner }) }),
    channel: null,
    sleepMs: (refusals) => spinSleepMs(desk.runtime, refusals),
  };
}
