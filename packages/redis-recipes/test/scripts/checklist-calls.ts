import { expect } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import {
  fairKeyList,
  fairKeys,
  mutexKeyList,
  mutexKeys,
  permitKeyList,
  permitKeys,
  readHoldKeyList,
  readWriteKeys,
  semaphoreKeys,
} from "../../src/layout/keys.js";
import { fairAcquire } from "../../src/scripts/fair/acquire.js";
import { fairRelease } from "../../src/scripts/fair/release.js";
import { latchCount } from "../../src/scripts/latch/count.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { permitTake } from "../../src/scripts/permit/take.js";
import { readAcquire } from "../../src/scripts/read-write/read-acquire.js";
import { readRelease } from "../../src/scripts/read-write/read-release.js";
import { writeAcquire } from "../../src/scripts/read-write/write-acquire.js";
import { writeRelease } from "../../src/scripts/read-write/write-release.js";
import type { Script } from "../../src/scripts/script.js";
import type { Content, Key } from "../model/keyspace.js";
import { javaOwners, ourOwners, type Stage } from "../model/stage.js";

export const name = "orders";
export const [anna, bert, carl] = ourOwners as [string, string, string];
export const [java] = javaOwners as [string];
export const lock = mutexKeys(name);
export const fair = fairKeys(name);
export const rw = readWriteKeys(name);
export const permit = permitKeys(name);
export const semaphore = semaphoreKeys(name);

export interface Seen<R> {
  readonly answer: R;
  readonly keys: ReadonlyMap<string, Key>;
  readonly published: readonly (readonly [string, string])[];
  readonly nowMs: number;
}

/** Each function calls one script. It returns the answer, all keys after it, and what was published. */
export function callsOn(stage: Stage) {
  async function see<R>(
    script: Script<R>,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Seen<R>> {
    const { raw, after } = await stage.server.step(script.lua, keys, args);
    const published = after.published.map(({ channel, message }) => [channel, message] as const);
    return { answer: script.parse(raw), keys: after.keys, published, nowMs: after.nowMs };
  }

  const standing = (owner: string, more: object = {}) => ({
    owner,
    leaseMs: 30_000,
    mayWait: true,
    aliveMs: 60_000,
    notAfterMs: null,
    tokenTtlMs: 604_800_000,
    floor: 0n,
    changes: "",
    readNumber: 1,
    ...more,
  });
  const passing = (owner: string, more: object = {}) => ({
    owner,
    claimMs: 3_000,
    aliveMs: 60_000,
    maxDirectRun: 8,
    tokenTtlMs: 604_800_000,
    publish: "publish" as const,
    channel: redissonChannels.mutex(name),
    changes: "",
    readersTurnMs: 250,
    ...more,
  });
  const take = (owner: string, more: object = {}) =>
    see(mutexAcquire, mutexKeyList(lock), mutexAcquire.args(standing(owner, more)));
  const free = (owner: string, more: object = {}) =>
    see(mutexRelease, mutexKeyList(lock), mutexRelease.args(passing(owner, more)));
  const fairTake = (owner: string, more: object = {}) =>
    see(fairAcquire, fairKeyList(fair), fairAcquire.args({ ...standing(owner, more), waitMs: 300_000 }));
  const fairEnd = (owner: string) => ({
    owner,
    waitMs: 300_000,
    publish: "publish" as const,
    channel: redissonChannels.mutex(name),
  });
  const fairFree = (owner: string) => see(fairRelease, fairKeyList(fair), fairRelease.args(fairEnd(owner)));
  const write = (owner: string, more: object = {}) =>
    see(writeAcquire, mutexKeyList(rw), writeAcquire.args(standing(owner, more)));
  const read = (owner: string, leaseMs = 30_000) =>
    see(readAcquire, readHoldKeyList(name, owner), readAcquire.args({ ...standing(owner), leaseMs }));
  const rwEnd = (owner: string) => passing(owner, { channel: redissonChannels.readWrite(name) });
  const unwrite = (owner: string) => see(writeRelease, mutexKeyList(rw), writeRelease.args(rwEnd(owner)));
  const unread = (owner: string) =>
    see(
      readRelease,
      readHoldKeyList(name, owner),
      readRelease.args({ ...rwEnd(owner), holdPrefix: rw.holdPrefix, readNumber: 1 }),
    );
  const sc = { publish: "publish" as const, channel: redissonChannels.semaphore(name) };
  const ids = (...digits: string[]) => digits.map((digit) => digit.repeat(32));
  const takePermits = (given: string[], more: object = {}) =>
    see(
      permitTake,
      permitKeyList(permit),
      permitTake.args({
        ids: given,
        leaseMs: 30_000,
        limit: 3,
        notAfterMs: null,
        tokenTtlMs: 0,
        floor: 0n,
        ...sc,
        ...more,
      }),
    );
  const latch = (action: "down" | "set", count: number) =>
    see(
      latchCount,
      [name],
      latchCount.args({
        action,
        count,
        publish: "publish",
        channel: redissonChannels.latch(name),
        notAfterMs: null,
      }),
    );
  return {
    see,
    take,
    free,
    fairTake,
    fairFree,
    write,
    read,
    rwEnd,
    unwrite,
    unread,
    ids,
    takePermits,
    latch,
    fairEnd,
    sc,
  };
}

export function contentOf<T extends Content["type"]>(
  seen: Seen<unknown>,
  key: string,
  type: T,
): Extract<Content, { type: T }> {
  const content = seen.keys.get(key)?.content;
  if (content?.type !== type) throw new Error(`${key} is ${content?.type ?? "not there"}`);
  return content as Extract<Content, { type: T }>;
}
export const fields = (seen: Seen<unknown>, key = name) =>
  Object.fromEntries(contentOf(seen, key, "hash").fields);
export const left = (seen: Seen<unknown>, key = name) =>
  (seen.keys.get(key)?.expiresMs ?? Number.NaN) - seen.nowMs;

/** Expects a TTL that was set to `ms` by the last call, or some calls before. On a busy machine a call may take a second. */
export function expectSet(leftMs: number, ms: number): void {
  expect(leftMs).toBeGreaterThan(ms - Math.min(ms / 2, 10_000));
  expect(leftMs).toBeLessThanOrEqual(ms + 1);
}
