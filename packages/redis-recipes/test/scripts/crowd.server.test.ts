import { describe, expect, it } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { fairKeyList, fairKeys, mutexKeyList, mutexKeys } from "../../src/layout/keys.js";
import { cancelLimit, fairHeartbeatLimit } from "../../src/recipes/kinds/fair.js";
import { heartbeatLimit } from "../../src/recipes/kinds/kind.js";
import { fairAcquire } from "../../src/scripts/fair/acquire.js";
import { fairCancel } from "../../src/scripts/fair/cancel.js";
import { fairHeartbeat } from "../../src/scripts/fair/heartbeat.js";
import { fairRelease } from "../../src/scripts/fair/release.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import type { Script } from "../../src/scripts/script.js";
import { stage } from "../model/stage.js";
import {
  busyMs,
  type Call,
  count,
  fill,
  holder,
  leaseMs,
  living,
  mostMs,
  name,
  newcomer,
  uuid,
  waiter,
} from "./crowd.js";

const on = stage();
const notAfterMs = null;
const tokenTtlMs = 0;
const publish = "publish" as const;
const channel = redissonChannels.mutex(name);

describe("a fair lock", () => {
  const keys = fairKeys(name);
  const list = fairKeyList(keys);
  const waitMs = 300_000;
  const line = () => on.server.redis.eval(fill, 5, ...list, holder, leaseMs, count, uuid, "fair");
  const inLine = () => on.server.redis.lrange(keys.queue, 0, -1);
  const asked = { leaseMs, aliveMs: 600_000, notAfterMs, tokenTtlMs, floor: 0n, waitMs };
  const beating = living.slice(-fairHeartbeatLimit);
  const leaving = living.slice(0, cancelLimit);
  const callOf = <A extends unknown[]>(
    script: Script<unknown> & { args(...given: A): (string | number)[] },
    entries: number,
    ...given: A
  ): Call => ({
    script,
    keys: Array.from({ length: entries }, () => list).flat(),
    args: script.args(...given),
  });
  const tries = callOf(fairAcquire, 1, { ...asked, owner: newcomer, mayWait: false });

  it.each<[string, Call, (left: readonly string[]) => void]>([
    ["a try of a newcomer", tries, (left) => expect(left).toEqual(living.map(waiter))],
    [
      "a newcomer that stays",
      callOf(fairAcquire, 1, { ...asked, owner: newcomer, mayWait: true }),
      (left) => expect(left).toEqual([...living.map(waiter), newcomer]),
    ],
    [
      "a batch of heartbeats",
      callOf(
        fairHeartbeat,
        beating.length,
        { aliveMs: 600_000, claimMs: 3_000, notAfterMs, tokenTtlMs, waitMs },
        beating.map((place) => ({ owner: waiter(place), leaseMs, floor: 0n })),
      ),
      (left) => expect(left).toEqual(living.map(waiter)),
    ],
    [
      "a batch of waiters that leave",
      callOf(
        fairCancel,
        leaving.length,
        { waitMs, publish },
        leaving.map((place) => ({ owner: waiter(place), channel })),
      ),
      (left) => expect(left).toEqual(living.slice(cancelLimit).map(waiter)),
    ],
    [
      "a release",
      callOf(fairRelease, 1, { owner: holder, waitMs, publish, channel }),
      (left) => expect(left).toEqual(living.map(waiter)),
    ],
  ])("%s does not block the server, and leaves all that are alive in line", async (_what, call, check) => {
    const ms = await busyMs(on, line, call);
    check(await inLine());
    expect(ms).toBeLessThan(mostMs);
  });

  it("a waiter that asks after the process of all others has died takes the lock at once", async () => {
    const dead = async () => {
      await line();
      await on.server.redis.del(keys.alive, keys.lock);
    };
    const ms = await busyMs(on, dead, tries);
    expect(await on.server.redis.hgetall(name)).toEqual({ [newcomer]: "1" });
    expect(await on.server.redis.exists(keys.queue, keys.deadlines)).toBe(0);
    expect(ms).toBeLessThan(mostMs);
  });

  it("a grant to the first in a long line of the living does not block the server", async () => {
    const [first] = living;
    const free = async () => {
      await line();
      await on.server.redis.eval(fairAcquire.lua, tries.keys.length, ...tries.keys, ...tries.args);
      await on.server.redis.del(keys.lock);
    };
    const owner = waiter(first as number);
    const ms = await busyMs(on, free, callOf(fairAcquire, 1, { ...asked, owner, mayWait: true }));
    expect(await on.server.redis.hgetall(name)).toEqual({ [owner]: "1" });
    expect(await inLine()).toEqual(living.slice(1).map(waiter));
    expect(ms).toBeLessThan(mostMs);
  });

  it("takes as many waits off the deadlines of those who stay as waiters in front of them were dead", async () => {
    await line();
    const { redis } = on.server;
    const before = await redis.zmscore(keys.deadlines, ...living.map(waiter));
    await redis.eval(fairAcquire.lua, tries.keys.length, ...tries.keys, ...tries.args);
    const after = await redis.zmscore(keys.deadlines, ...living.map(waiter));
    const passed = living.map((place, n) => place - n);
    expect(after.map(Number)).toEqual(
      before.map((score, n) => Number(score) - waitMs * (passed[n] as number)),
    );
    expect(await redis.zcard(keys.deadlines)).toBe(living.length);
  });
});

describe("a mutex", () => {
  const keys = mutexKeys(name);
  const list = mutexKeyList(keys);
  const line = () =>
    on.server.redis.eval(
      fill,
      5,
      ...[keys.lock, keys.token, keys.waiters, keys.run, keys.alive],
      ...[holder, leaseMs, count, uuid, "mutex"],
    );
  const ends = {
    claimMs: 3_000,
    aliveMs: 3_500,
    maxDirectRun: -1,
    tokenTtlMs,
    publish,
    channel,
    changes: "",
  };

  it("a batch of heartbeats does not block the server", async () => {
    const beating = living.slice(-heartbeatLimit);
    const common = { aliveMs: 3_500, claimMs: 3_000, notAfterMs, tokenTtlMs, changes: "" };
    const ms = await busyMs(on, line, {
      script: mutexHeartbeat,
      keys: beating.flatMap(() => list),
      args: mutexHeartbeat.args(
        common,
        beating.map((place) => ({ owner: waiter(place), leaseMs, floor: 0n })),
      ),
    });
    expect(await on.server.redis.llen(keys.waiters)).toBe(count);
    expect(ms).toBeLessThan(mostMs);
  });

  it("a release past a thousand dead waiters neither blocks the server nor lets a newcomer pass the live one behind them", async () => {
    const { redis } = on.server;
    const dead = async () => {
      await line();
      await redis.lpush(keys.waiters, ...Array.from({ length: 1_500 }, (_, n) => `${uuid}:x${n} 1000`));
    };
    const ms = await busyMs(on, dead, {
      script: mutexRelease,
      keys: list,
      args: mutexRelease.args({ owner: holder, ...ends }),
    });
    expect(ms).toBeLessThan(mostMs);
    expect(await redis.exists(keys.lock)).toBe(0);
    const standing = { owner: newcomer, mayWait: false, leaseMs, aliveMs: 3_500, floor: 0n, changes: "" };
    const args = mutexAcquire.args({ ...standing, notAfterMs, tokenTtlMs });
    expect((await on.server.run(mutexAcquire, list, args)).status).toBe("busy");
  });
});
