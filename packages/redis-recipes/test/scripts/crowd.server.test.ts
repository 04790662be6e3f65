import { describe, expect, it } from "vitest";
import { takeOut } from "../../src/collector/action-scripts.js";
import { versionOf } from "../../src/collector/reading.js";
import { redissonChannels } from "../../src/layout/channels.js";
import { fairKeyList, fairKeys, mutexKeyList, mutexKeys } from "../../src/layout/keys.js";
import { cancelLimit, fairHeartbeatLimit, heartbeatLimit } from "../../src/recipes/batch-kinds.js";
import { fairAcquire } from "../../src/scripts/fair/acquire.js";
import { fairCancel } from "../../src/scripts/fair/cancel.js";
import { fairHeartbeat } from "../../src/scripts/fair/heartbeat.js";
import { fairRelease } from "../../src/scripts/fair/release.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import type { Script } from "../../src/scripts/script.js";
import { share } from "../model/differential.js";
import { ourOwners, stage } from "../model/stage.js";

const on = stage();
const count = share("waiters on one name, of which two fifths are dead", 1_000, 5_000);
/** What one script may take from all other clients of a server. */
const mostMs = 20;
const name = "orders";
const leaseMs = 600_000;
const [holder, newcomer] = ourOwners as [string, string];
const uuid = holder.split(":")[0];
const waiter = (place: number): string => `${uuid}:${place + 10}`;
const isDead = (place: number): boolean => place % 5 < 2;
const waiters = Array.from({ length: count }, (_, place) => place);
const living = waiters.filter((place) => !isDead(place));

/** A lock that is held, with its line: as enqueueing leaves it, and the dead not heard for some time. */
const fill = `
local now = redis.call('TIME')
local nowMs = now[1] * 1000
redis.call('HSET', KEYS[1], ARGV[1], '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], '17')
for place = 0, ARGV[3] - 1 do
  local owner = ARGV[4] .. ':' .. string.format('%.0f', place + 10)
  redis.call('RPUSH', KEYS[3], ARGV[5] == 'fair' and owner or owner .. ' ' .. ARGV[2])
  if ARGV[5] == 'fair' then redis.call('ZADD', KEYS[4], nowMs + 300000 * (place + 1), owner) end
  redis.call('ZADD', KEYS[5], nowMs + (place % 5 < 2 and -1000 or 600000), owner)
end
return 'OK'`;

interface Call {
  readonly script: { readonly lua: string };
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Processor time that the server has used so far: what else runs on the machine is no part of it. */
async function usedMs(): Promise<number> {
  const info = await on.server.redis.info("cpu");
  const parts = [...info.matchAll(/^used_cpu_(?:user|sys)_main_thread:(\S+)/gm)];
  return parts.reduce((sum, [, seconds]) => sum + 1_000 * Number(seconds), 0);
}

/** What the server works for one call, in the best of ten. */
async function busyMs(prepare: () => Promise<unknown>, { script, keys, args }: Call): Promise<number> {
  const { redis } = on.server;
  let least = Infinity;
  for (let run = 0; run < 10; run++) {
    await redis.flushall();
    await prepare();
    const before = await usedMs();
    await redis.eval(script.lua, keys.length, ...keys, ...args);
    least = Math.min(least, (await usedMs()) - before);
  }
  console.log(`${least.toFixed(1)} ms for ${count}`);
  return least;
}

const version = versionOf({
  shape: { is: "lock", fields: [{ field: holder, count: 1 }], mode: null },
  token: "17",
} as Parameters<typeof versionOf>[0]);
const notAfterMs = null;
const tokenTtlMs = 0;
const publish = "publish" as const;
const channel = redissonChannels.mutex(name);

describe("a fair lock", () => {
  const keys = fairKeys(name);
  const list = fairKeyList(keys);
  const waitMs = 300_000;
  const line = () => on.server.redis.eval(fill, 5, ...list, holder, leaseMs, count, uuid as string, "fair");
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
    [
      "taking the dead out by an operator's hand",
      {
        script: { lua: takeOut },
        keys: [name, mutexKeys(name).waiters, keys.alive, keys.queue, keys.deadlines, keys.token],
        args: ["dead", "", waitMs, publish, channel, "act", version],
      },
      (left) => expect(left).toEqual(living.map(waiter)),
    ],
  ])("%s does not block the server, and leaves all that are alive in line", async (_what, call, check) => {
    const ms = await busyMs(line, call);
    check(await inLine());
    expect(ms).toBeLessThan(mostMs);
  });

  it("a waiter that asks after the process of all others has died takes the lock at once", async () => {
    const dead = async () => {
      await line();
      await on.server.redis.del(keys.alive, keys.lock);
    };
    const ms = await busyMs(dead, tries);
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
    const ms = await busyMs(free, callOf(fairAcquire, 1, { ...asked, owner, mayWait: true }));
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
      ...[holder, leaseMs, count, uuid as string, "mutex"],
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
    const ms = await busyMs(line, {
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
      for (let extra = 0; extra < 1_500; extra++) await redis.lpush(keys.waiters, `${uuid}:x${extra} 1000`);
    };
    const ms = await busyMs(dead, {
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
