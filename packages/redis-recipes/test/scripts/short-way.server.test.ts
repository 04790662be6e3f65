import { describe, expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { mutexKeyList, mutexKeys, readWriteKeys } from "../../src/layout/keys.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import type { Queued } from "../../src/scripts/mutex/answers.js";
import { mutexCancel } from "../../src/scripts/mutex/cancel.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { renew } from "../../src/scripts/mutex/renew.js";
import { writeAcquire } from "../../src/scripts/read-write/write-acquire.js";
import { writeRelease } from "../../src/scripts/read-write/write-release.js";
import type { CallScript } from "../../src/scripts/script.js";
import { javaOwners, ourOwners, stage } from "../model/stage.js";

// A free lock without waiters is taken and given back by a few commands, the short way. Each test below fails if the short way
// loses the condition in its title.

const on = stage();
const name = "orders";
const keys = mutexKeys(name);
const list = mutexKeyList(keys);
const [anna, bert, carl] = ourOwners as [string, string, string];
const [java] = javaOwners as [string];
const tokenTtlMs = 604_800_000;
const seen = 1_700_000_000_000_000n;

const standing = (owner: string, more: object = {}) => ({
  owner,
  leaseMs: 30_000,
  mayWait: true,
  aliveMs: 3_500,
  notAfterMs: null,
  tokenTtlMs,
  floor: 0n,
  changes: "",
  ...more,
});
const passing = (owner: string, channel: string) => ({
  owner,
  claimMs: 3_000,
  aliveMs: 3_500,
  maxDirectRun: 8,
  tokenTtlMs,
  publish: "publish" as const,
  channel,
  changes: "",
});
const take = (owner: string, more: object = {}) =>
  on.server.run(mutexAcquire, list, mutexAcquire.args(standing(owner, more)));
const free = (owner: string) =>
  on.server.run(mutexRelease, list, mutexRelease.args(passing(owner, redissonChannels.mutex(name))));
const write = (owner: string) => on.server.run(writeAcquire, list, writeAcquire.args(standing(owner)));
const unwrite = (owner: string) =>
  on.server.run(
    writeRelease,
    list,
    writeRelease.args({ ...passing(owner, redissonChannels.readWrite(name)), readersTurnMs: 250 }),
  );
const see = <A, R>(script: CallScript<A, R>, args: A) => on.server.step(script.lua, list, script.args(args));

/** How many commands the server executes for `work`, including those that call a script. */
async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  await on.server.hashOf(mutexAcquire.lua);
  await on.server.hashOf(mutexRelease.lua);
  await on.server.hashOf(writeAcquire.lua);
  await on.server.hashOf(writeRelease.lua);
  await on.server.redis.config("RESETSTAT");
  await work();
  const stats = await on.server.redis.info("commandstats");
  return [...stats.matchAll(/^cmdstat_(?!config)\S+:calls=(\d+)/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
}

async function statusesOf(steps: readonly (() => Promise<{ status: string }>)[]): Promise<string[]> {
  const statuses: string[] = [];
  for (const step of steps) statuses.push((await step()).status);
  return statuses;
}

describe("commands at the server, the calls of the scripts among them", () => {
  const pair = (floor: bigint) => async () =>
    expect(await statusesOf([() => take(anna, { floor }), () => free(anna)])).toEqual(["granted", "freed"]);

  test("a mutex of a new name is taken and given back by ten", async () => {
    expect(await commandsOf(pair(0n))).toBe(10);
  });

  test("a mutex whose token the client has seen is taken and given back by ten", async () => {
    await pair(0n)();
    expect(await commandsOf(pair(seen))).toBe(10);
  });

  test("a mutex that another client has used before is taken and given back by eleven the first time", async () => {
    await pair(0n)();
    expect(await commandsOf(pair(0n))).toBe(11);
  });

  test.each([
    ["fifteen with INFO, where the connection cannot vouch for the run id", "", 1],
    ["fourteen where it can", "told".padEnd(40, "0"), 0],
  ])("a lock is handed over by %s", async (_what, runId, infos) => {
    await take(anna);
    await take(bert);
    const args = mutexRelease.args(passing(anna, redissonChannels.mutex(name)));
    args[mutexRelease.runIdAt as number] = runId;
    const release = () => on.server.run(mutexRelease, list, args);
    const commands = await commandsOf(async () =>
      expect(await release()).toMatchObject({ status: "handed" }),
    );
    expect(commands).toBe(14 + infos);
  });

  test("an owner stands in line behind others by ten", async () => {
    await take(anna);
    await take(bert);
    expect(await commandsOf(() => take(carl))).toBe(10);
  });

  test("a hold is renewed by five, and has its lease then, also where something has taken its time to live away", async () => {
    const entry = { field: anna, leaseMs: 60_000 };
    const renewal = () => on.server.run(renew, [keys.lock, keys.token], renew.args(null, [entry]));
    await take(anna);
    await on.server.hashOf(renew.lua);
    const renewed = [{ status: "renewed", pttlMs: 60_000 }];
    expect(await commandsOf(async () => expect(await renewal()).toMatchObject(renewed))).toBe(5);
    await on.server.redis.persist(name);
    expect(await renewal()).toMatchObject(renewed);
    expect(await on.server.redis.pttl(name)).toBeGreaterThan(50_000);
  });

  test("a write lock is taken and given back by twelve", async () => {
    const work = () => statusesOf([() => write(anna), () => unwrite(anna)]);
    expect(await commandsOf(async () => expect(await work()).toEqual(["granted", "freed"]))).toBe(12);
  });
});

describe("an acquire takes the short way only", () => {
  test("of a lock without a holder: one that Java holds is waited for", async () => {
    await on.server.redis.hset(name, java, "1");
    expect(await take(anna)).toMatchObject({ status: "queued", holder: java, holderPttlMs: -1 });
    expect(await on.server.redis.hgetall(name)).toEqual({ [java]: "1" });
  });

  test("while there is no waiter: it does not pass a live waiter of a lock whose holder has lapsed", async () => {
    await take(anna);
    await take(bert);
    await on.server.redis.del(name);
    expect(await take(carl)).toMatchObject({ status: "queued", position: 1 });
    expect(await take(bert)).toMatchObject({ status: "granted" });
  });

  test("before its date: a late copy writes nothing", async () => {
    const { after, raw } = await see(mutexAcquire, standing(anna, { notAfterMs: Date.now() - 60_000 }));
    expect(mutexAcquire.parse(raw).status).toBe("late");
    expect(after.keys.size).toBe(0);
  });

  test.each([
    ["string", ["SET", name, "x"]],
    ["list", ["RPUSH", name, "x"]],
    ["read-write-lock", ["HSET", name, "mode", "read", java, "1"]],
    ["hash", ["HSET", name, "a", "many"]],
  ])(
    "where there is nothing else: a key that is a %s is a conflict, and stays",
    async (found, [command = "", ...args]) => {
      await on.server.redis.call(command, ...args);
      const before = await on.server.redis.dump(name);
      expect(await take(anna)).toMatchObject({ status: "conflict", found });
      expect(await on.server.redis.dump(name)).toBe(before);
      expect(await on.server.redis.keys("*")).toEqual([name]);
    },
  );

  test.each([
    ["text", "text"],
    ["no exact number", "9007199254740000"],
  ])(
    "with a token key that has %s in it there is a conflict, and the key keeps its time too",
    async (_what, value) => {
      await on.server.redis.set(keys.token, value, "PX", 50_000);
      expect(await take(anna)).toMatchObject({ status: "conflict", found: "token" });
      expect(await on.server.redis.get(keys.token)).toBe(value);
      expect(await on.server.redis.pttl(keys.token)).toBeLessThanOrEqual(50_000);
      expect(await on.server.redis.pttl(keys.token)).toBeGreaterThan(0);
      expect(await on.server.redis.exists(name)).toBe(0);
    },
  );

  test("a text that took the place of a token which the client has seen is put back, for good", async () => {
    await on.server.redis.set(keys.token, "text");
    expect(await take(anna, { floor: seen })).toMatchObject({ status: "conflict", found: "token" });
    expect(await on.server.redis.get(keys.token)).toBe("text");
    expect(await on.server.redis.pttl(keys.token)).toBe(-1);
  });

  test("where no changes are published: of a lock whose changes are, each one is published", async () => {
    const { after, raw } = await see(mutexAcquire, standing(anna, { changes: "changed" }));
    expect(mutexAcquire.parse(raw)).toMatchObject({ status: "granted", pttlMs: 30_000 });
    expect(after.published).toEqual([{ channel: "changed", message: "1" }]);
    const given = { ...passing(anna, redissonChannels.mutex(name)), changes: "changed" };
    const freed = await see(mutexRelease, given);
    expect(mutexRelease.parse(freed.raw)).toMatchObject({ status: "freed", publishError: "" });
    expect(freed.after.published.map(({ channel }) => channel)).toEqual([given.channel, "changed"]);
  });

  test("with a token key of another type there is a conflict", async () => {
    for (const floor of [0n, seen]) {
      await on.server.redis.del(keys.token);
      await on.server.redis.rpush(keys.token, "x");
      expect(await take(anna, { floor })).toMatchObject({ status: "conflict", found: "token" });
      expect(await on.server.redis.exists(name)).toBe(0);
    }
  });
});

describe("the answer of the short way", () => {
  const ahead = () => String((Date.now() + 3_600_000) * 1_000);
  const raws = async (more: object = {}) => {
    const { raw, after } = await see(mutexAcquire, standing(anna, more));
    await free(anna);
    return { raw, token: after.keys.get(keys.token)?.content };
  };

  test("is one number where the token is the server's time and the lease the whole one", async () => {
    for (const floor of [0n, seen]) {
      await on.server.redis.del(keys.token);
      const { raw, token } = await raws({ floor });
      expect(raw).toEqual(expect.any(Number));
      expect(token).toEqual({ type: "string", value: String(raw) });
    }
  });

  test("says the token where that is another than the time, and the one before where that is asked for", async () => {
    await on.server.redis.set(keys.token, ahead());
    expect((await raws({ floor: seen })).raw).toEqual([
      "granted",
      expect.any(Number),
      expect.any(String),
      30_000,
    ]);
    const { raw } = await raws({ floor: seen, tellsBefore: true });
    expect(raw).toEqual(["granted", expect.any(Number), expect.any(String), 30_000, expect.any(String)]);
  });

  test("is three numbers for an owner that is appended behind others, and names the holder to the first and to one that asks again", async () => {
    const asked = async (owner: string) => await see(mutexAcquire, standing(owner));
    await take(anna);
    const full = ["queued", expect.any(Number), expect.any(Number), anna, expect.any(String)];
    expect((await asked(bert)).raw).toEqual([...full, 0, 1]);
    const { raw, after } = await asked(carl);
    expect(raw).toEqual([expect.any(Number), expect.any(Number), 1]);
    const { lastToken } = mutexAcquire.parse(raw) as Queued;
    expect(after.keys.get(keys.token)?.content).toEqual({ type: "string", value: String(lastToken) });
    expect((await asked(carl)).raw).toEqual([...full, 1, 0]);
  });

  test("of a release is 1 where its message was published, and says why it was not", async () => {
    await take(anna);
    const channel = redissonChannels.mutex(name);
    const { raw, after } = await see(mutexRelease, passing(anna, channel));
    expect(raw).toBe(1);
    expect(after.published).toEqual([{ channel, message: "0" }]);
    await on.server.redis.call("ACL", "SETUSER", "quiet", "on", ">secret", "~*", "+@all", "resetchannels");
    await take(anna);
    const quiet = on.server.redis.duplicate({ username: "quiet", password: "secret", lazyConnect: true });
    try {
      await quiet.connect();
      const args = mutexRelease.args(passing(anna, channel));
      const answer = await quiet.eval(mutexRelease.lua, list.length, ...list, ...args);
      expect(mutexRelease.parse(answer)).toMatchObject({
        status: "freed",
        publishError: expect.stringMatching(/publish|NOPERM|No permissions/i),
      });
    } finally {
      quiet.disconnect();
      await on.server.redis.call("ACL", "DELUSER", "quiet");
    }
  });

  test.each(["none", "both"] as const)("a release published by %s takes the long way", async (publish) => {
    await take(anna);
    const given = { ...passing(anna, redissonChannels.mutex(name)), publish };
    const { raw, after } = await see(mutexRelease, given);
    expect(mutexRelease.parse(raw)).toMatchObject({ status: "freed", publishError: "" });
    expect(after.published.length).toBe(publish === "none" ? 0 : 1);
  });
});

describe("tokens of the short way", () => {
  const nowUs = () => BigInt(Date.now()) * 1_000n;
  const ahead = () => nowUs() + 3_600_000_000n;

  test("are above one that is ahead of the clock, seen or not", async () => {
    for (const floor of [0n, seen]) {
      const last = ahead();
      await on.server.redis.set(keys.token, String(last));
      expect(await take(anna, { floor })).toMatchObject({ status: "granted", token: last + 1n });
      expect(await on.server.redis.get(keys.token)).toBe(String(last + 1n));
      await free(anna);
    }
  });

  test("are above the highest that the client has seen, whether the server still has it or a lower one or none", async () => {
    for (const kept of [null, "7"]) {
      await on.server.redis.del(keys.token);
      if (kept !== null) await on.server.redis.set(keys.token, kept);
      const floor = ahead();
      expect(await take(anna, { floor })).toMatchObject({ status: "granted", token: floor + 1n });
      await free(anna);
    }
  });

  test("have the time to live of the last grant, or none where the option says so", async () => {
    for (const floor of [0n, seen]) {
      await on.server.redis.del(keys.token);
      await take(anna, { floor });
      await on.server.redis.pexpire(keys.token, 10_000);
      await free(anna);
      await take(bert, { floor });
      expect(await on.server.redis.pttl(keys.token)).toBeGreaterThan(tokenTtlMs - 10_000);
      await free(bert);
      await take(carl, { floor, tokenTtlMs: 0 });
      expect(await on.server.redis.pttl(keys.token)).toBe(-1);
      await free(carl);
    }
  });
});

describe("a release takes the short way only", () => {
  test("for the holder: another owner changes and publishes nothing", async () => {
    await take(anna);
    const { raw, after } = await see(mutexRelease, passing(bert, redissonChannels.mutex(name)));
    expect(mutexRelease.parse(raw).status).toBe("gone");
    expect(after.published).toEqual([]);
    expect(await on.server.redis.hgetall(name)).toEqual({ [anna]: "1" });
  });

  test("for a hold that is there: for one that has lapsed nothing is published", async () => {
    await take(anna);
    await on.server.redis.del(name);
    const { raw, after } = await see(mutexRelease, passing(anna, redissonChannels.mutex(name)));
    expect(mutexRelease.parse(raw).status).toBe("gone");
    expect(after.published).toEqual([]);
  });

  test("for a hold that was alone: a reader of Java's that came in beside it stays, and nothing is published", async () => {
    await take(anna);
    await on.server.redis.hset(name, "mode", "read", java, "1");
    const { raw, after } = await see(mutexRelease, passing(anna, redissonChannels.mutex(name)));
    expect(mutexRelease.parse(raw).status).toBe("gone");
    expect(after.published).toEqual([]);
    expect(await on.server.redis.hgetall(name)).toEqual({ mode: "read", [java]: "1" });
  });

  test("of a lock without waiters: else the next of ours is made holder", async () => {
    await take(anna);
    await take(bert);
    expect(await free(anna)).toMatchObject({ status: "handed" });
    expect(await on.server.redis.hgetall(name)).toEqual({ [bert]: "1" });
  });

  test("and the message of a hand-over names the server as the connection does", async () => {
    await take(anna);
    await take(bert);
    const args = mutexRelease.args(passing(anna, redissonChannels.mutex(name)));
    args[mutexRelease.runIdAt as number] = "f".repeat(40);
    const { after } = await on.server.step(mutexRelease.lua, list, args);
    expect(JSON.parse(after.published[0]?.message ?? "")).toMatchObject({
      type: "granted",
      run: "f".repeat(40),
    });
  });

  test("where no run of hand-offs is counted: the last holder of a run ends it", async () => {
    await take(anna);
    await take(bert);
    await free(anna);
    expect(await on.server.redis.exists(keys.run)).toBe(1);
    expect(await free(bert)).toMatchObject({ status: "freed" });
    expect(await on.server.redis.exists(keys.run)).toBe(0);
  });

  test("and frees a lock beside whose queue something else is kept: an error would come after the end of the hold", async () => {
    for (const key of [keys.waiters, keys.run]) {
      await take(anna);
      await on.server.redis.hset(key, "not", "ours");
      expect(await free(anna)).toMatchObject({ status: "freed" });
      expect(await on.server.redis.exists(name)).toBe(0);
      await on.server.redis.del(key);
    }
  });

  test("of a key that is no hash there is nothing to end", async () => {
    await on.server.redis.set(name, "x");
    expect((await free(anna)).status).toBe("gone");
    expect(await on.server.redis.get(name)).toBe("x");
  });

  test("on a replica it is refused, and says nothing of the hold", async () => {
    await take(anna);
    await on.server.redis.call("REPLICAOF", "127.0.0.1", "1");
    try {
      await expect(free(anna)).rejects.toThrow(/^READONLY/);
      await expect(take(bert)).rejects.toThrow(/^READONLY/);
    } finally {
      await on.server.redis.call("REPLICAOF", "NO", "ONE");
    }
    expect(await on.server.redis.hgetall(name)).toEqual({ [anna]: "1" });
  });

  test("a writer that still reads is downgraded, and one whose hash has another mode is gone", async () => {
    await write(anna);
    await on.server.redis.hset(name, anna, "1");
    expect((await unwrite(anna)).status).toBe("downgraded");
    expect(await on.server.redis.hgetall(name)).toEqual({ mode: "read", [anna]: "1" });
    await on.server.redis.hset(name, `${bert}:write`, "1");
    expect((await unwrite(bert)).status).toBe("gone");
    expect(await on.server.redis.hgetall(name)).toEqual({ mode: "read", [anna]: "1" });
  });

  test("and the first waiter of a lock that Java holds nudges the next one when it gives up, which has to listen now", async () => {
    await on.server.redis.hset(name, java, "1");
    await take(anna);
    await take(bert);
    const args = mutexCancel.args({ ...passing(anna, redissonChannels.mutex(name)), leaseMs: 30_000 });
    const { raw, after } = await on.server.step(mutexCancel.lua, list, args);
    expect(mutexCancel.parse(raw).status).toBe("removed");
    const [uuid] = bert.split(":");
    expect(after.published.map(({ channel, message }) => [channel, JSON.parse(message)])).toEqual([
      [`holdfast_grant:${uuid}`, { type: "nudge", key: name, owner: bert }],
    ]);
  });

  test("a writer before whom others wait hands over, and ends a run where there was one", async () => {
    await write(anna);
    await write(bert);
    expect(await unwrite(anna)).toMatchObject({ status: "handed" });
    expect(await unwrite(bert)).toMatchObject({ status: "freed" });
    expect(await on.server.redis.keys("*")).toEqual([readWriteKeys(name).token]);
  });
});
