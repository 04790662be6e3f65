import { describe, expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { fairKeyList, fairKeys, mutexKeyList, mutexKeys } from "../../src/layout/keys.js";
import { fairAcquire } from "../../src/scripts/fair/acquire.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mostReserved, prove } from "../../src/scripts/mutex/prove.js";
import { nodeIdentityKey } from "../../src/scripts/redlock/identity.js";
import { vote } from "../../src/scripts/redlock/vote.js";
import { spinAcquire } from "../../src/scripts/spin/acquire.js";
import { ourOwners, stage } from "../model/stage.js";

const on = stage();
const name = "orders";
const keys = mutexKeys(name);
const channel = redissonChannels.mutex(name);
/** An owner of a provider that keeps no locks, and one of a provider that may keep locks. */
const [plain, , , marked] = ourOwners as [string, string, string, string];
const contender = "33333333-3333-8333-a333-333333333333:1";
const waiting = "33333333-3333-8333-a333-333333333333:2";

async function acquire(
  owner: string,
  how: { mayWait?: boolean; asksKeeper?: boolean; tellsBefore?: boolean },
) {
  const given = {
    owner,
    leaseMs: 60_000,
    mayWait: false,
    aliveMs: 3_500,
    notAfterMs: null,
    tokenTtlMs: 0,
    floor: 0n,
    changes: "",
    ...how,
  };
  const { raw, after } = await on.server.step(mutexAcquire.lua, mutexKeyList(keys), mutexAcquire.args(given));
  return { answer: mutexAcquire.parse(raw), published: after.published.map(({ message }) => message) };
}

async function proof(
  field: string,
  { leaseMs = 60_000, reserves = true, listens = "publish" as const } = {},
) {
  const entry = { field, leaseMs, channel, reserves };
  const list = mutexKeyList(keys).slice(0, 4);
  const { raw } = await on.server.step(prove.lua, list, prove.args({ listens, tokenTtlMs: 0 }, [entry]));
  const [answer] = prove.parse(raw);
  if (answer === undefined) throw new Error("no answer");
  return answer;
}

test("a vote of RedLock that is refused tells a holder that may keep the lock that it is wanted, and no other", async () => {
  const given = { leaseMs: 60_000, notAfterMs: null, tokenTtlMs: 0, guard: false, maxLeaseMs: 60_000 };
  for (const [holder, messages] of [
    [plain, []],
    [marked, [expect.stringContaining('"wanted"')]],
  ] as const) {
    await on.server.redis.del(name);
    await acquire(holder, {});
    const list = [keys.lock, keys.token, nodeIdentityKey];
    const { raw, after } = await on.server.step(vote.lua, list, vote.args({ owner: contender, ...given }));
    expect(vote.parse(raw).status).toBe("busy");
    expect(after.published.map(({ message }) => message)).toEqual(messages);
  }
});

async function tokenKey(): Promise<number> {
  return Number(await on.server.redis.get(keys.token));
}

describe("what scripts do for locks that may be kept", () => {
  test("a try stands in the queue only behind a holder that may keep the lock, and only as the first", async () => {
    await acquire(plain, {});
    expect(await acquire(contender, { asksKeeper: true })).toMatchObject({
      answer: { status: "busy" },
      published: [],
    });
    await on.server.redis.del(name);
    await acquire(marked, {});
    expect(await acquire(contender, {})).toMatchObject({
      answer: { status: "busy" },
      published: [expect.stringContaining('"wanted"')],
    });
    expect(await acquire(waiting, { asksKeeper: true })).toMatchObject({
      answer: { status: "queued", position: 0, appended: true },
      published: [expect.stringContaining('"wanted"')],
    });
    expect((await acquire(contender, { asksKeeper: true })).answer.status).toBe("busy");
  });

  test("a provider that may keep a mutex is told when a spin or fair lock of the same name is wanted, and no other is", async () => {
    const asking = { owner: contender, leaseMs: 60_000, notAfterMs: null, tokenTtlMs: 0, floor: 0n };
    const fair = { ...asking, aliveMs: 3_500, waitMs: 300_000 };
    const fairList = fairKeyList(fairKeys(name));
    const requests = [
      ["busy", spinAcquire.lua, [keys.lock, keys.token], spinAcquire.args(asking)],
      ["busy", fairAcquire.lua, fairList, fairAcquire.args({ ...fair, mayWait: false })],
      ["queued", fairAcquire.lua, fairList, fairAcquire.args({ ...fair, mayWait: true })],
    ] as const;
    for (const holder of [plain, marked]) {
      await on.server.redis.flushall();
      await acquire(holder, {});
      for (const [status, lua, list, args] of requests) {
        const { raw, after } = await on.server.step(lua, list, args);
        expect((raw as readonly unknown[])[0]).toBe(status);
        const wishes = holder === marked ? [expect.stringContaining('"wanted"')] : [];
        expect(after.published.map(({ message }) => message)).toEqual(wishes);
      }
    }
  });

  test("a grant of a free lock comes with the token before its own, and only where that is asked for", async () => {
    expect((await acquire(marked, { tellsBefore: true })).answer).toMatchObject({ before: 0n });
    const before = BigInt(await tokenKey());
    await on.server.redis.del(name);
    expect((await acquire(marked, { tellsBefore: true })).answer).toMatchObject({ before });
    await on.server.redis.del(name);
    expect((await acquire(marked, {})).answer).not.toHaveProperty("before");
  });

  test("a proof reserves so many tokens at most, and never so that the key is further ahead of the clock", async () => {
    await acquire(marked, {});
    const granted = await tokenKey();
    const first = await proof(marked);
    expect(first).toMatchObject({ status: "renewed", above: BigInt(granted) });
    expect(await tokenKey()).toBe(granted + mostReserved);
    for (let again = 0; again < 5; again++) await proof(marked);
    const [seconds = 0, micros = 0] = (await on.server.redis.time()).map(Number);
    expect((await tokenKey()) - (seconds * 1_000_000 + micros)).toBeLessThanOrEqual(mostReserved);
    const ahead = await tokenKey();
    await on.server.redis.set(keys.token, String(ahead + 60_000_000));
    expect(await proof(marked)).toMatchObject({ token: BigInt(ahead + 60_000_000) });
    expect(await tokenKey()).toBe(ahead + 60_000_000);
  });

  test("a proof reserves nothing once another client wants the lock, and says who", async () => {
    await acquire(marked, {});
    await acquire(waiting, { mayWait: true });
    const before = await tokenKey();
    expect(await proof(marked)).toMatchObject({ waited: true, listeners: 0 });
    expect(await tokenKey()).toBe(before);
    await on.server.redis.del(keys.waiters, keys.alive);
    await on.server.listen(channel, true);
    expect(await proof(marked)).toMatchObject({ waited: false, listeners: 1 });
    await on.server.listen(channel, false);
    expect(await tokenKey()).toBe(before);
  });

  test("a proof raises a lease and never lowers it, and touches nothing that is not its owner's", async () => {
    await acquire(marked, {});
    expect(await proof(marked, { leaseMs: 5_000 })).toMatchObject({ status: "renewed" });
    expect(await on.server.redis.pttl(name)).toBeGreaterThan(50_000);
    await proof(marked, { leaseMs: 200_000 });
    expect(await on.server.redis.pttl(name)).toBeGreaterThan(190_000);
    const before = await tokenKey();
    expect(await proof(plain, { leaseMs: 900_000 })).toMatchObject({ status: "gone" });
    expect(await on.server.redis.pttl(name)).toBeLessThan(200_001);
    expect(await tokenKey()).toBe(before);
  });

  test("a proof goes through where the server has no memory left, since it renews", async () => {
    await acquire(marked, {});
    await on.server.redis.config("SET", "maxmemory", "1");
    try {
      expect(await proof(marked)).toMatchObject({ status: "renewed" });
    } finally {
      await on.server.redis.config("SET", "maxmemory", "0");
    }
  });
});
