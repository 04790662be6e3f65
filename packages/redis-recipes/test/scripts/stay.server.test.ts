import { expect, test } from "vitest";
import { mutexKeyList, mutexKeys } from "../../src/layout/keys.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { type StayLook, stay } from "../../src/scripts/mutex/stay.js";
import { javaOwners, ourOwners, stage } from "../model/stage.js";

const on = stage();
const name = "orders";
const keys = mutexKeys(name);
const aliveMs = 3_500;
const [uuid = ""] = (ourOwners[0] as string).split(":");
const waiters = (count: number) => Array.from({ length: count }, (_, place) => `${uuid}:${place + 1}`);

async function queue(owners: readonly string[]): Promise<void> {
  await on.server.redis.hset(name, javaOwners[0] as string, "1");
  await on.server.redis.pexpire(name, 60_000);
  for (const owner of owners) {
    const args = mutexAcquire.args({
      owner,
      leaseMs: 30_000,
      mayWait: true,
      aliveMs,
      notAfterMs: null,
      tokenTtlMs: 0,
      floor: 0n,
      changes: "",
    });
    await on.server.run(mutexAcquire, mutexKeyList(keys), args);
  }
}

const heartbeat = async (owners: readonly string[]) => {
  const args = mutexHeartbeat.args(
    { aliveMs, claimMs: 3_000, notAfterMs: null, tokenTtlMs: 0, changes: "" },
    owners.map((owner) => ({ owner, leaseMs: 30_000, floor: 0n })),
  );
  const each = owners.flatMap(() => mutexKeyList(keys));
  return (await on.server.run(mutexHeartbeat, each, args)).map(({ status }) => status);
};

const ask = async (look: StayLook, owners: readonly string[], windowMs = aliveMs) =>
  (
    await on.server.run(
      stay,
      [keys.lock, keys.waiters, keys.alive],
      stay.args({ aliveMs: windowMs, entries: [{ look, owners }] }),
    )
  ).stays;

test.each([1, 200])(
  "%i waiters on a lock keep their places by four commands, five where the first is looked for, six where sizes are compared",
  async (count) => {
    const owners = waiters(count);
    await queue(owners);
    await on.server.hashOf(stay.lua);
    for (const [turn, look] of (["lock", "first", "life"] as const).entries()) {
      await on.server.redis.config("RESETSTAT");
      // Each turn sets another time, however fast the turns follow each other.
      await ask(look, owners, aliveMs + 100 * (turn + 1));
      const stats = await on.server.redis.info("commandstats");
      const calls = [...stats.matchAll(/^cmdstat_(?!config)\S+:calls=(\d+)/gm)].map(([, each]) =>
        Number(each),
      );
      expect([look, calls.reduce((sum, each) => sum + each, 0)]).toEqual([look, 4 + turn]);
    }
  },
);

test("an owner that was dropped, or granted, or that never stood there, has to ask, and is not put back", async () => {
  const [one = "", other = "", stranger = ""] = waiters(3);
  await queue([one, other]);
  await on.server.redis.zrem(keys.alive, one);
  expect(await ask("lock", [one, other, stranger])).toEqual([false, true, false]);
  expect(await on.server.redis.zrange(keys.alive, 0, "-1")).toEqual([other]);
});

test("dead waiters in front leave the queue when the first is looked for, and the live one behind them has to ask", async () => {
  const owners = waiters(5);
  const [one = "", two = "", ...live] = owners;
  await queue(owners);
  await on.server.redis.zadd(keys.alive, 1, one, 1, two);
  expect(await ask("lock", live)).toEqual([true, true, true]);
  expect(await on.server.redis.llen(keys.waiters)).toBe(5);
  expect(await ask("first", live)).toEqual([false, true, true]);
  expect(await on.server.redis.lrange(keys.waiters, 0, -1)).toEqual(live.map((owner) => `${owner} 30000`));
  expect((await on.server.redis.zrange(keys.alive, 0, "-1")).sort()).toEqual(live);
});

test("a window of which half has passed is whole again, and so is one that is over unless the waiter was dropped", async () => {
  const owners = waiters(2);
  await queue(owners);
  await on.server.redis.zadd(keys.alive, 1, owners[0] as string);
  await on.server.redis.pexpire(keys.alive, 30_000);
  const askedMs = Date.now();
  expect(await ask("lock", owners)).toEqual([true, true]);
  for (const owner of owners)
    expect(Number(await on.server.redis.zscore(keys.alive, owner))).toBeGreaterThanOrEqual(askedMs + aliveMs);
});

test("all have to ask when the lock is free, the first one when it stands first or the hold ends soon, and one when the queue ends", async () => {
  const owners = waiters(3);
  await queue(owners);
  expect(await ask("lock", owners)).toEqual([true, true, true]);
  expect(await ask("first", owners)).toEqual([false, true, true]);
  await on.server.redis.pexpire(name, aliveMs - 100);
  expect(await ask("lock", owners)).toEqual([false, true, true]);
  await on.server.redis.persist(name);
  expect(await ask("lock", owners)).toEqual([true, true, true]);
  await on.server.redis.del(name);
  expect(await ask("lock", owners)).toEqual([false, false, false]);
  expect(await ask("life", owners.slice(1))).toEqual([true, true]);
  await on.server.redis.pexpire(keys.waiters, 4 * aliveMs);
  expect(await ask("life", owners.slice(1))).toEqual([false, true]);
});

test("all have to ask when the list of waiters was lost alone, and then stand in it again", async () => {
  const owners = waiters(3);
  const newcomer = ourOwners[3] as string;
  await queue(owners);
  await on.server.redis.del(keys.waiters);
  // A newcomer of another client renews the TTL of the queue. So its end cannot be why the waiters have to ask.
  await queue([newcomer]);
  expect(await ask("life", owners)).toEqual([false, false, false]);
  await heartbeat(owners);
  expect(await on.server.redis.lrange(keys.waiters, 0, -1)).toEqual(
    [newcomer, ...owners].map((owner) => `${owner} 30000`),
  );
});

test("an owner that is granted a free lock is no waiter any more, also where the list of waiters was lost alone", async () => {
  const owners = waiters(2);
  await queue(owners);
  await on.server.redis.del(keys.waiters, keys.lock);
  expect(await heartbeat(owners)).toEqual(["granted", "queued"]);
  expect(await on.server.redis.zrange(keys.alive, 0, "-1")).toEqual(owners.slice(1));
  expect(await ask("life", owners.slice(1))).toEqual([true]);
});

test("waiters keep their places at a server whose memory is full", async () => {
  const owners = waiters(2);
  await queue(owners);
  await on.server.redis.config("SET", "maxmemory", "1");
  try {
    expect(await ask("lock", owners, aliveMs + 100)).toEqual([true, true]);
  } finally {
    await on.server.redis.config("SET", "maxmemory", "0");
  }
});
