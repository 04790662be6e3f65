import { expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import {
  doubleBarrierKeys,
  electionKeys,
  fairKeyList,
  fairKeys,
  mutexKeyList,
  mutexKeys,
  permitKeyList,
  permitKeys,
  readHoldKey,
  readHoldKeyList,
  readWriteKeys,
  recordKeys,
} from "../../src/layout/keys.js";
import { doubleBarrier } from "../../src/scripts/barrier/double.js";
import { electionLabel } from "../../src/scripts/election/label.js";
import { fairAcquire } from "../../src/scripts/fair/acquire.js";
import { fairInspect } from "../../src/scripts/inspect/fair.js";
import { mutexInspect } from "../../src/scripts/inspect/mutex.js";
import { permitsInspect } from "../../src/scripts/inspect/permits.js";
import { readWriteInspect } from "../../src/scripts/inspect/read-write.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexAcquireAll } from "../../src/scripts/mutex/acquire-all.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { permitSet } from "../../src/scripts/permit/set.js";
import { permitTake } from "../../src/scripts/permit/take.js";
import { readAcquire } from "../../src/scripts/read-write/read-acquire.js";
import { readRelease } from "../../src/scripts/read-write/read-release.js";
import { recordText } from "../../src/scripts/record/text.js";
import { javaOwners, ourOwners, stage } from "../model/stage.js";

const on = stage();
const name = "orders";
const keys = mutexKeys(name);
const list = mutexKeyList(keys);
const labels = electionKeys(name).labels;
const [anna, bert, carl] = ourOwners as [string, string, string];
const [java] = javaOwners as [string];

const standing = (owner: string, more: object = {}) => ({
  owner,
  leaseMs: 30_000,
  mayWait: true,
  aliveMs: 3_500,
  notAfterMs: null,
  tokenTtlMs: 604_800_000,
  floor: 0n,
  changes: "",
  readNumber: 1,
  ...more,
});
const passing = (owner: string) => ({
  owner,
  claimMs: 3_000,
  aliveMs: 3_500,
  maxDirectRun: -1,
  tokenTtlMs: 604_800_000,
  publish: "publish" as const,
  channel: redissonChannels.mutex(name),
  changes: "",
});
const take = (owner: string, more: object = {}) =>
  on.server.run(mutexAcquire, list, mutexAcquire.args(standing(owner, more)));
const free = (owner: string) => on.server.run(mutexRelease, list, mutexRelease.args(passing(owner)));

async function commandCalls(): Promise<number> {
  const stats = await on.server.redis.info("commandstats");
  return [...stats.matchAll(/^cmdstat_(?!info|evalsha)\S+:calls=(\d+)/gm)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );
}

test.each([2, 100, 1_000])("with %i waiters a hand-off costs the same commands", async (count) => {
  await take(anna, { leaseMs: 600_000 });
  const uuid = bert.split(":")[0];
  // They queue one after the other. The lock must still be held, and the first be alive, when the last has come.
  for (let waiter = 1; waiter <= count; waiter++) await take(`${uuid}:${waiter + 10}`, { aliveMs: 600_000 });
  await on.server.hashOf(mutexRelease.lua);
  const before = await commandCalls();
  const answer = await free(anna);
  expect(answer.status).toBe("handed");
  // The commands: HDEL, EXISTS, TIME, run, head and its score, token, LPOP, ZREM, HSET, PEXPIRE, run again, PUBLISH.
  expect((await commandCalls()) - before).toBe(13);
});

test("tokens go on above the server's microseconds after the key was deleted, set back, or counted up by Java", async () => {
  const tokens: bigint[] = [];
  const next = async (between: () => Promise<unknown>) => {
    const answer = await take(anna);
    if (answer.status === "granted") tokens.push(answer.token);
    await free(anna);
    await between();
  };
  await next(() => on.server.redis.del(keys.token));
  await next(() => on.server.redis.set(keys.token, "7"));
  await next(() => on.server.redis.incr(keys.token));
  await next(async () => undefined);
  expect(tokens).toHaveLength(4);
  expect([...tokens].sort((left, right) => (left < right ? -1 : 1))).toEqual(tokens);
  expect(new Set(tokens).size).toBe(4);
});

test("a hand-over draws a token above the last one, be that below the server's clock, ahead of it or gone", async () => {
  const ahead = BigInt(Date.now()) * 1_000n + 3_600_000_000n;
  for (const last of ["7", String(ahead), null]) {
    await take(anna);
    await take(bert);
    if (last === null) await on.server.redis.del(keys.token);
    else await on.server.redis.set(keys.token, last);
    expect((await free(anna)).status).toBe("handed");
    const token = BigInt((await on.server.redis.get(keys.token)) ?? 0);
    if (last === String(ahead)) expect(token).toBe(ahead + 1n);
    else expect(token).toBeGreaterThan(1_700_000_000_000_000n);
    expect(await on.server.redis.pttl(keys.token)).toBeGreaterThan(600_000_000);
    await free(bert);
  }
});

test.each([
  ["a text", ["SET", "text", "PX", "50000"]],
  ["a number from which no token can go on", ["SET", "9007199254740000"]],
  ["a list", ["RPUSH", "x"]],
])(
  "a lock whose token key holds %s is freed for all, and what is there stays",
  async (_what, [command = "", ...args]) => {
    await take(anna);
    await take(bert);
    await on.server.redis.del(keys.token);
    await on.server.redis.call(command, keys.token, ...args);
    expect((await free(anna)).status).toBe("freed");
    expect(await on.server.redis.exists(name)).toBe(0);
    expect(await on.server.redis.lrange(keys.waiters, 0, -1)).toEqual([`${bert} 30000`]);
    if (command === "SET") expect(await on.server.redis.get(keys.token)).toBe(args[0]);
    else expect(await on.server.redis.lrange(keys.token, 0, -1)).toEqual(args);
  },
);

test("a client that has seen a higher token lifts the next one above it", async () => {
  const seen = BigInt(Date.now()) * 1_000n + 3_600_000_000n;
  await take(java, { mayWait: false });
  expect(await take(anna, { floor: seen })).toMatchObject({ status: "queued", lastToken: seen + 1n });
  expect((await free(java)).status).toBe("handed");
  expect(await take(anna)).toMatchObject({ status: "granted", token: seen + 2n });
});

test("a request after its date does nothing", async () => {
  expect((await take(anna, { notAfterMs: Date.now() - 60_000 })).status).toBe("late");
  expect(await on.server.redis.keys("*")).toEqual([]);
});

test("a record is replaced only where the text is the one that was seen, and never after the date", async () => {
  const { text: key } = recordKeys(name);
  const replace = (seen: string, text: string, notAfterMs: number | null = null) =>
    on.server.run(recordText, [key], recordText.args({ change: { seen, text }, notAfterMs }));
  expect(await replace("", "one")).toMatchObject({ status: "done", text: "one" });
  expect(await replace("", "two")).toMatchObject({ status: "done", text: "one" });
  expect((await replace("one", "two", Date.now() - 60_000)).status).toBe("late");
  const look = recordText.args({ change: null, notAfterMs: Date.now() + 60_000 });
  expect(await on.server.run(recordText, [key], look)).toMatchObject({ status: "done", text: "one" });
  expect(await replace("one", "two", Date.now() + 60_000)).toMatchObject({ status: "done", text: "two" });
});

test("where publishing is forbidden the hand-over stands, and the answer says why no message was sent", async () => {
  await on.server.redis.call("ACL", "SETUSER", "quiet", "on", ">secret", "~*", "+@all", "resetchannels");
  await take(anna);
  await take(bert);
  const quiet = on.server.redis.duplicate({ username: "quiet", password: "secret", lazyConnect: true });
  try {
    await quiet.connect();
    const raw = await quiet.eval(mutexRelease.lua, list.length, ...list, ...mutexRelease.args(passing(anna)));
    expect(mutexRelease.parse(raw)).toMatchObject({
      status: "handed",
      publishError: expect.stringMatching(/publish|NOPERM|No permissions/i),
    });
    expect(await on.server.redis.hgetall(name)).toEqual({ [bert]: "1" });
  } finally {
    quiet.disconnect();
    await on.server.redis.call("ACL", "DELUSER", "quiet");
  }
});

test("dead waiters are passed over, a whole queue of them at once", async () => {
  await take(anna);
  const uuid = bert.split(":")[0];
  for (let waiter = 1; waiter <= 100; waiter++) await take(`${uuid}:${waiter + 10}`);
  // This waiter must still be alive after the next hundred commands.
  await take(carl, { aliveMs: 60_000 });
  for (let waiter = 1; waiter <= 100; waiter++)
    await on.server.redis.zadd(keys.alive, 1, `${uuid}:${waiter + 10}`);
  expect(await free(anna)).toMatchObject({ status: "handed" });
  expect(await on.server.redis.hgetall(name)).toEqual({ [carl]: "1" });
  expect(await on.server.redis.exists(keys.waiters, keys.alive)).toBe(0);
});

const readTake = (owner: string, more: object = {}) =>
  on.server.run(readAcquire, readHoldKeyList(name, owner), readAcquire.args(standing(owner, more)));
const jointTake = (owner: string) => {
  const { tokenTtlMs, aliveMs } = standing(owner);
  const args = mutexAcquireAll.args({ notAfterMs: null, tokenTtlMs, aliveMs }, [standing(owner)]);
  return on.server.run(mutexAcquireAll, list, args);
};
const fairTake = (owner: string) =>
  on.server.run(
    fairAcquire,
    fairKeyList(fairKeys(name)),
    fairAcquire.args({ ...standing(owner), waitMs: 300_000 }),
  );

test.each<[string, (owner: string) => Promise<{ readonly status: string }>]>([
  ["mutex", take],
  ["mutex of several", jointTake],
  ["read lock", readTake],
  ["fair lock", fairTake],
])("a free %s waits a minute for the dead at most, though the clock was set back", async (_what, ask) => {
  const { redis } = on.server;
  const { queue, deadlines } = fairKeys(name);
  await redis.rpush(keys.waiters, `${bert} 30000`);
  await redis.rpush(queue, bert);
  await redis.zadd(deadlines, Date.now() + 3_900_000, bert);
  await redis.zadd(keys.alive, Date.now() + 3_600_000, bert);
  expect((await ask(carl)).status).not.toBe("granted");
  expect(Number(await redis.zscore(keys.alive, bert))).toBeLessThanOrEqual(Date.now() + 60_000);
});

test("a client with a short window does not shorten the life of a queue that others stand in", async () => {
  await take(java, { mayWait: false });
  await take(anna, { aliveMs: 60_000 });
  await take(bert, { aliveMs: 1_000 });
  await free(java);
  for (const key of [keys.waiters, keys.alive]) {
    expect(await on.server.redis.pttl(key)).toBeGreaterThan(590_000);
  }
});

test("everything of ours goes ten windows after the last client was heard", async () => {
  await take(java, { mayWait: false });
  await take(anna, { aliveMs: 60_000 });
  for (const key of [keys.waiters, keys.alive]) {
    const left = await on.server.redis.pttl(key);
    expect(left).toBeGreaterThan(590_000);
    expect(left).toBeLessThanOrEqual(600_000);
  }
});

test("a member of a double barrier that enters or stays is told of itself alone, and one that leaves of all others", async () => {
  const { full, members } = doubleBarrierKeys(name);
  const others = Array.from({ length: 1_000 }, (_, place) => `member ${place}`);
  await on.server.redis.zadd(members, ...others.flatMap((each) => [Date.now() + 60_000, each]));
  const ask = async (action: "enter" | "stay" | "leave" | "read") => {
    const given = { action, member: "own", parties: 2_000, aliveMs: 60_000, notAfterMs: null, changes: "c" };
    return await on.server.run(doubleBarrier, [full, members], doubleBarrier.args(given));
  };
  expect(await ask("stay")).toMatchObject({ status: "gone", members: [] });
  expect(await ask("enter")).toMatchObject({ status: "done", members: ["own"] });
  expect(await ask("stay")).toMatchObject({ status: "done", members: ["own"] });
  expect((await ask("read")).members).toHaveLength(1_001);
  expect(new Set((await ask("leave")).members)).toEqual(new Set(others));
});

test("a label costs as few commands among a thousand candidates, and labels of those that are gone are forgotten", async () => {
  const { redis } = on.server;
  const election = electionKeys(name);
  const label = () =>
    on.server.run(
      electionLabel,
      [election.lock, election.waiters, election.alive, election.labels],
      electionLabel.args({ owner: anna, leaseMs: 30_000, label: "here", ttlMs: 60_000, changes: "c" }),
    );
  const uuid = bert.split(":")[0];
  const others = Array.from({ length: 1_000 }, (_, place) => `${uuid}:${place + 10}`);
  await redis.hset(election.lock, anna, "1");
  await redis.rpush(election.waiters, ...others.map((owner) => `${owner} 30000`));
  await redis.zadd(election.alive, ...others.flatMap((owner) => [Date.now() + 60_000, owner]));
  await redis.hset(election.labels, Object.fromEntries(others.map((owner) => [owner, "there"])));
  await on.server.hashOf(electionLabel.lua);
  const before = await commandCalls();
  expect((await label()).status).toBe("labelled");
  // The commands: TIME, HEXISTS, HLEN, ZCARD, HSET, PTTL, PEXPIRE, PUBLISH.
  expect((await commandCalls()) - before).toBeLessThanOrEqual(8);
  expect(await redis.hlen(election.labels)).toBe(1_001);
  await redis.del(election.waiters, election.alive);
  await label();
  expect(await redis.hlen(election.labels)).toBeLessThanOrEqual(2);
  expect(await redis.hget(election.labels, anna)).toBe("here");
});

test("a picture of a mutex shows holder, waiters and token, and changes nothing", async () => {
  await take(java, { mayWait: false });
  await take(anna);
  await take(bert, { leaseMs: 9_000 });
  await on.server.redis.zadd(keys.alive, 1, bert);
  const before = await on.server.redis.lrange(keys.waiters, 0, -1);
  const look = [keys.lock, keys.token, keys.waiters, keys.alive, labels];
  const picture = await on.server.run(mutexInspect, look, mutexInspect.args({ maxPending: 10 }));
  expect(picture).toMatchObject({
    found: "held",
    holders: [{ owner: java, mode: "exclusive", count: 1 }],
    waiting: [
      { owner: anna, leaseMs: 30_000, deadlineLeftMs: -1 },
      { owner: bert, leaseMs: 9_000, aliveLeftMs: 0 },
    ],
    waitingTotal: 2,
  });
  expect(picture.token).toBeGreaterThan(1_700_000_000_000_000n);
  expect(await on.server.redis.lrange(keys.waiters, 0, -1)).toEqual(before);
  const short = await on.server.run(mutexInspect, look, mutexInspect.args({ maxPending: 1 }));
  expect([short.waiting.length, short.waitingTotal]).toEqual([1, 2]);
});

test("pictures name what is there instead", async () => {
  await on.server.redis.set(name, "text");
  const look = [keys.lock, keys.token, keys.waiters, keys.alive, labels];
  expect(await on.server.run(mutexInspect, look, [5])).toMatchObject({
    found: "string",
    holders: [],
    token: null,
  });
  expect(await on.server.run(permitsInspect, [name, permitKeys(name).grants], [5])).toMatchObject({
    status: "conflict",
    found: "text",
  });
});

test("a picture of a fair lock shows Java's waiters by their deadlines, and ours", async () => {
  const fair = fairKeys(name);
  const args = (owner: string) =>
    fairAcquire.args({ ...standing(owner, { aliveMs: 60_000 }), waitMs: 300_000 });
  await on.server.run(fairAcquire, fairKeyList(fair), args(java));
  await on.server.run(fairAcquire, fairKeyList(fair), args(anna));
  await on.server.redis.rpush(fair.queue, "u:1");
  const picture = await on.server.run(fairInspect, fairKeyList(fair), fairInspect.args({ maxPending: 10 }));
  expect(picture.waiting.map(({ owner }) => owner)).toEqual([anna, "u:1"]);
  expect(picture.waiting[0]?.deadlineLeftMs).toBeGreaterThan(300_000);
  expect(picture.waiting[0]?.aliveLeftMs).toBeGreaterThan(50_000);
  expect(picture.waiting[1]).toMatchObject({ aliveLeftMs: -1, deadlineLeftMs: -1 });
});

test("a picture of a read-write lock shows each reader's own time, and readers that are over", async () => {
  const rw = readWriteKeys(name);
  for (const [owner, leaseMs] of [
    [anna, 30_000],
    [bert, 60_000],
  ] as const) {
    const args = readAcquire.args({ ...standing(owner), leaseMs });
    await on.server.run(readAcquire, readHoldKeyList(name, owner), args);
  }
  await on.server.redis.del(`{orders}:${bert}:rwlock_timeout:1`);
  const args = readWriteInspect.args({ maxPending: 10, holdPrefix: rw.holdPrefix });
  const picture = await on.server.run(readWriteInspect, mutexKeyList(rw), args);
  expect(picture.holders).toMatchObject([
    { owner: anna, mode: "shared", count: 1 },
    { owner: bert, mode: "shared", pttlMs: -2 },
  ]);
  expect(picture.holders[0]?.pttlMs).toBeGreaterThan(20_000);
  expect(picture.holders[0]?.pttlMs).toBeLessThanOrEqual(30_000);
});

test("a picture of a read-write lock shows ten thousand readers at most, and counts a hundred holds of each", async () => {
  const rw = readWriteKeys(name);
  const look = async () => {
    const args = readWriteInspect.args({ maxPending: 10, holdPrefix: rw.holdPrefix });
    return (await on.server.run(readWriteInspect, mutexKeyList(rw), args)).holders;
  };
  const { redis } = on.server;
  await redis.hset(name, { mode: "read", [java]: "1000" });
  await redis.set(readHoldKey(name, java, 100), "1", "PX", 30_000);
  await redis.set(readHoldKey(name, java, 101), "1", "PX", 60_000);
  const [reader] = await look();
  expect(reader?.count).toBe(1_000);
  expect(Math.ceil((reader?.pttlMs ?? 0) / 30_000)).toBe(1);
  const uuid = anna.split(":")[0];
  await redis.hset(name, Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`${uuid}:${n}`, "1"])));
  expect(await look()).toHaveLength(10_000);
});

test("a picture of a read-write lock reads 20,000 holds at most, and the first one of each reader", async () => {
  const rw = readWriteKeys(name);
  const { redis } = on.server;
  const uuid = anna.split(":")[0];
  const readers = Array.from({ length: 300 }, (_, n) => `${uuid}:${n}`);
  await redis.hset(name, { mode: "read", ...Object.fromEntries(readers.map((owner) => [owner, "100"])) });
  const put = async (level: number): Promise<void> => {
    await Promise.all(readers.map((owner) => redis.set(readHoldKey(name, owner, level), "1", "PX", 30_000)));
  };
  const args = readWriteInspect.args({ maxPending: 10, holdPrefix: rw.holdPrefix });
  const alive = async (): Promise<number> => {
    const { holders } = await on.server.run(readWriteInspect, mutexKeyList(rw), args);
    return holders.filter(({ pttlMs }) => pttlMs > 0).length;
  };
  await put(100);
  expect(await alive()).toBe(200);
  await put(1);
  expect(await alive()).toBe(300);
});

test("a turn of readers that is longer than any is over for a reader behind a writer: the server's clock was set back", async () => {
  const { redis } = on.server;
  const readWrite = readWriteKeys(name);
  await readTake(anna);
  const [seconds] = (await redis.time()) as unknown as [number];
  const nowMs = 1_000 * Number(seconds);
  await redis.rpush(readWrite.waiters, `${bert} 30000`);
  await redis.zadd(readWrite.alive, nowMs + 60_000, bert);
  // A turn of readers is no longer than an alive window of theirs.
  const more = { aliveMs: 60_000 };
  await redis.set(readWrite.run, `r${nowMs + 50_000}`);
  expect(await readTake(carl, more)).toMatchObject({ status: "granted" });
  await redis.set(readWrite.run, `r${nowMs + 3_600_000}`);
  expect(await readTake(java, more)).toMatchObject({ status: "busy", behindWriter: true });
});

test("a limit gives a thousand permits back that are over, and counts the others as held", async () => {
  const permit = permitKeys(name);
  const { redis } = on.server;
  await redis.set(permit.permits, "0");
  await redis.zadd(permit.grants, ...Array.from({ length: 1_500 }, (_, n) => [1, `permit ${n}`]).flat());
  const args = { limit: 2_000, onlyIfUnset: false, notAfterMs: null, publish: "none" as const, channel: "" };
  const answer = await on.server.run(permitSet, permitKeyList(permit), permitSet.args(args));
  expect(answer).toMatchObject({ status: "counted", changed: true, free: 1_500, held: 500 });
});

test.each([
  [5, ["granted"]],
  [2_500, ["busy 0", "busy 0", "granted"]],
])(
  "where the limit was set below %i permits that are over by now, a take gives back what it needs, a thousand in each try",
  async (held, expected) => {
    const permit = permitKeys(name);
    const { redis } = on.server;
    await redis.set(permit.permits, String(1 - held));
    await redis.zadd(permit.grants, ...Array.from({ length: held }, (_, n) => [1, `permit ${n}`]).flat());
    const args = {
      ids: ["0a".repeat(16)],
      leaseMs: 30_000,
      limit: null,
      notAfterMs: null,
      tokenTtlMs: 0,
      floor: 0n,
      publish: "none" as const,
      channel: "",
    };
    const answers: string[] = [];
    for (let tries = 0; tries < expected.length; tries++) {
      const answer = await on.server.run(permitTake, permitKeyList(permit), permitTake.args(args));
      answers.push(answer.status === "busy" ? `busy ${answer.leaseLeftMs}` : answer.status);
    }
    expect(answers).toEqual(expected);
    expect(await redis.get(permit.permits)).toBe("0");
  },
);

test("setting the number of permits where only the number is lost counts the held ones towards it", async () => {
  const permit = permitKeys(name);
  const publishing = { publish: "none" as const, channel: "" };
  const taken = {
    ids: ["0a", "0b", "0c"].map((id) => id.repeat(16)),
    leaseMs: 30_000,
    limit: 5,
    notAfterMs: null,
    tokenTtlMs: 0,
    floor: 0n,
  };
  await on.server.run(permitTake, permitKeyList(permit), permitTake.args({ ...taken, ...publishing }));
  await on.server.redis.del(permit.permits);
  const args = permitSet.args({ limit: 5, onlyIfUnset: false, notAfterMs: null, ...publishing });
  const answer = await on.server.run(permitSet, permitKeyList(permit), args);
  expect(answer).toMatchObject({ status: "counted", changed: true, free: 2, held: 3 });
  expect(await on.server.redis.get(permit.permits)).toBe("2");
});

test("where only the number of permits is lost and a permit is over, a look leaves the number missing, and the first limit is set", async () => {
  const permit = permitKeys(name);
  const set = (limit: number | null) => {
    const how = { onlyIfUnset: true, notAfterMs: null, publish: "none", channel: "" } as const;
    return on.server.run(permitSet, permitKeyList(permit), permitSet.args({ limit, ...how }));
  };
  await on.server.redis.zadd(permit.grants, 1, Buffer.from("0a".repeat(16), "hex"));
  await on.server.redis.zadd(permit.grants, 9e15, Buffer.from("0b".repeat(16), "hex"));
  const looked = await set(null);
  // Nothing that a caller may want to set is this number of all permits.
  expect(looked).toMatchObject({ status: "counted", changed: false, free: -3, held: 2 });
  expect(await on.server.redis.exists(permit.permits)).toBe(0);
  expect(await set(5)).toMatchObject({ status: "counted", changed: true, free: 4, held: 1 });
  expect(await set(7)).toMatchObject({ status: "counted", changed: false, free: 4, held: 1 });
});

test("a picture of permits shows ids and the time they have left", async () => {
  const permit = permitKeys(name);
  const take = (id: string, leaseMs: number | null) =>
    on.server.run(
      permitTake,
      [permit.permits, permit.grants, permit.token],
      permitTake.args({
        ids: [id],
        leaseMs,
        limit: 3,
        notAfterMs: null,
        tokenTtlMs: 0,
        floor: 0n,
        publish: "none",
        channel: "",
      }),
    );
  await take("0a".repeat(16), 30_000);
  await take("ff".repeat(16), null);
  const picture = await on.server.run(
    permitsInspect,
    [permit.permits, permit.grants],
    permitsInspect.args({ maxHeld: 10 }),
  );
  expect(picture).toMatchObject({
    status: "seen",
    free: 1,
    heldTotal: 2,
    held: [{ id: "0a".repeat(16) }, { id: "ff".repeat(16), leaseLeftMs: -1 }],
  });
});

test("a reader among a thousand ends with no more commands than one among two hundred", async () => {
  const uuid = anna.split(":")[0];
  const keysOf = (owner: string) => readHoldKeyList(name, owner);
  const readers = Array.from({ length: 1_000 }, (_, place) => `${uuid}:${place + 1}`);
  // None of the leases runs out during the test, however long two thousand calls take.
  for (const owner of readers)
    await on.server.run(readAcquire, keysOf(owner), readAcquire.args(standing(owner, { leaseMs: 300_000 })));
  const { holdPrefix } = readWriteKeys(name);
  const end = (owner: string) =>
    on.server.run(
      readRelease,
      keysOf(owner),
      readRelease.args({ ...passing(owner), readersTurnMs: 0, holdPrefix, readNumber: 1 }),
    );
  // This reader is not among the first that are looked at. It is to end last.
  const last = readers[500] as string;
  await on.server.redis.pexpire(readHoldKey(name, last), 900_000);
  await on.server.redis.pexpire(name, 900_000);
  const before = await commandCalls();
  expect((await end(readers[0] as string)).status).toBe("shared");
  expect((await commandCalls()) - before).toBeLessThanOrEqual(220);
  for (const owner of readers.slice(1)) {
    if (owner === last) continue;
    expect((await end(owner)).status).toBe("shared");
    expect(await on.server.redis.pttl(name)).toBeGreaterThan(600_000);
  }
  expect((await end(last)).status).toBe("freed");
  expect(await on.server.redis.exists(name)).toBe(0);
});

test("all readers are listed for one that ends only where they are few, or none of those that are drawn by lot is alive, or the user may not draw", async () => {
  const uuid = anna.split(":")[0];
  const { redis } = on.server;
  const { holdPrefix } = readWriteKeys(name);
  const listed = async (count: number, client = redis): Promise<boolean> => {
    await redis.flushall();
    const readers = Array.from({ length: count }, (_, place) => `${uuid}:${place + 1}`);
    for (const owner of readers)
      await on.server.run(readAcquire, readHoldKeyList(name, owner), readAcquire.args(standing(owner)));
    const [first = ""] = readers;
    const keysOf = readHoldKeyList(name, first);
    const args = readRelease.args({ ...passing(first), readersTurnMs: 0, holdPrefix, readNumber: 1 });
    await redis.config("RESETSTAT");
    const raw = await client.eval(readRelease.lua, keysOf.length, ...keysOf, ...args);
    expect(readRelease.parse(raw)).toMatchObject({ status: "shared" });
    expect(await redis.hlen(name)).toBe(count);
    return (await redis.info("commandstats")).includes("cmdstat_hkeys:");
  };
  expect([await listed(100), await listed(200)]).toEqual([true, false]);
  await redis.call("ACL", "SETUSER", "old", "on", ">secret", "~*", "&*", "+@all", "-hrandfield");
  const old = redis.duplicate({ username: "old", password: "secret" });
  try {
    expect(await listed(200, old)).toBe(true);
  } finally {
    old.disconnect();
    await redis.call("ACL", "DELUSER", "old");
  }
});

test("a reader ends at once beside a number that stands for no holds, and the lock keeps its time", async () => {
  await on.server.run(readAcquire, readHoldKeyList(name, anna), readAcquire.args(standing(anna)));
  await on.server.redis.hset(name, bert, "1000");
  const { holdPrefix } = readWriteKeys(name);
  const args = readRelease.args({ ...passing(anna), readersTurnMs: 0, holdPrefix, readNumber: 1 });
  const answer = await on.server.run(readRelease, readHoldKeyList(name, anna), args);
  expect(answer.status).toBe("shared");
  expect(await on.server.redis.hgetall(name)).toEqual({ mode: "read", [bert]: "1000" });
  expect(await on.server.redis.pttl(name)).toBeGreaterThan(20_000);
});

test("a reader ends as a whole where the holds of others cannot be read, and those count as alive", async () => {
  for (const owner of [anna, bert])
    await on.server.run(readAcquire, readHoldKeyList(name, owner), readAcquire.args(standing(owner)));
  // The user may not read the other hold's key. To this server that is like a key that has moved ahead of its slot.
  const own = readHoldKeyList(name, anna).flatMap((key) => `~${key}`);
  await on.server.redis.call("ACL", "SETUSER", "apart", "on", ">secret", ...own, "+@all", "allchannels");
  const apart = on.server.redis.duplicate({ username: "apart", password: "secret", lazyConnect: true });
  try {
    await apart.connect();
    const keysOf = readHoldKeyList(name, anna);
    const { holdPrefix } = readWriteKeys(name);
    const args = readRelease.args({ ...passing(anna), readersTurnMs: 0, holdPrefix, readNumber: 1 });
    const raw = await apart.eval(readRelease.lua, keysOf.length, ...keysOf, ...args);
    expect(readRelease.parse(raw)).toMatchObject({ status: "shared" });
    expect(await on.server.redis.hgetall(name)).toEqual({ mode: "read", [bert]: "1" });
    expect(await on.server.redis.pttl(name)).toBeGreaterThan(20_000);
  } finally {
    apart.disconnect();
    await on.server.redis.call("ACL", "DELUSER", "apart");
  }
});
