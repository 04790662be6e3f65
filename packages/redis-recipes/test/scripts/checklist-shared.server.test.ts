import { describe, expect, test } from "vitest";
import { neverExpiresMs } from "../../src/layout/keys.js";
import { semaphoreTake } from "../../src/scripts/semaphore/take.js";
import { stage } from "../model/stage.js";

import {
  anna,
  bert,
  callsOn,
  contentOf,
  expectSet,
  fields,
  java,
  left,
  name,
  permit,
  semaphore,
} from "./checklist-calls.js";

const on = stage();
const { see, take, free, fairTake, write, read, unwrite, unread, ids, takePermits, latch } = callsOn(on);

describe("layout 9: keys of read holds", () => {
  const hold = (owner: string) => `{orders}:${owner}:rwlock_timeout:1`;

  test("one for each hold, its TTL the lease of that hold; the hash lives as long as the longest", async () => {
    await read(anna, 60_000);
    const seen = await read(bert, 20_000);
    expectSet(left(seen, hold(anna)), 60_000);
    expectSet(left(seen, hold(bert)), 20_000);
    expectSet(left(seen), 60_000);
    expect(contentOf(seen, hold(bert), "string").value).toBe("1");
    const rest = await unread(anna);
    expect(rest.keys.has(hold(anna))).toBe(false);
    expectSet(left(rest), 20_000);
  });

  test("levels of a re-entered Java reader all count, and dead readers go with the last live one", async () => {
    await read(anna, 20_000);
    await on.server.redis.hset(name, java, "2");
    await on.server.redis.set(`{orders}:${java}:rwlock_timeout:2`, "1", "PX", 50_000);
    expectSet(left(await unread(anna)), 50_000);
    await read(anna, 20_000);
    await on.server.redis.del(`{orders}:${java}:rwlock_timeout:2`);
    expect((await unread(anna)).answer.status).toBe("freed");
  });
});

describe("layout 10: transitions of the mode", () => {
  test("read, write, write with read, read", async () => {
    expect(fields(await read(anna))).toEqual({ mode: "read", [anna]: "1" });
    await unread(anna);
    expect(fields(await write(bert))).toEqual({ mode: "write", [`${bert}:write`]: "1" });
    expect(fields(await read(bert))).toEqual({ mode: "write", [`${bert}:write`]: "1", [bert]: "1" });
    expect(fields(await unwrite(bert))).toEqual({ mode: "read", [bert]: "1" });
    expect((await unread(bert)).keys.has(name)).toBe(false);
  });

  test("a reader is no writer: as a writer it waits like any other owner", async () => {
    await read(anna);
    expect((await write(anna)).answer).toMatchObject({ status: "queued", holder: "" });
  });

  test("of a name held as a mutex no read or write is granted, and of one held for reading no mutex", async () => {
    await take(anna);
    expect((await read(bert)).answer).toMatchObject({ status: "conflict", found: "mutex" });
    expect((await write(bert)).answer).toMatchObject({ status: "conflict", found: "mutex" });
    await free(anna);
    await read(anna);
    expect((await take(bert)).answer).toMatchObject({ status: "conflict", found: "read-write-lock" });
    expect((await fairTake(bert)).answer).toMatchObject({ status: "conflict", found: "read-write-lock" });
  });
});

describe("permits", () => {
  test("layout 11: members are 16 raw bytes", async () => {
    const seen = await takePermits([...ids("0", "f"), "00ff".repeat(8)]);
    const members = [...contentOf(seen, permit.grants, "zset").scores.keys()];
    expect(members.map((member) => Buffer.from(member, "latin1").toString("hex")).sort()).toEqual(
      [...ids("0", "f"), "00ff".repeat(8)].sort(),
    );
    expect(members.every((member) => member.length === 16)).toBe(true);
  });

  test("layout 12: one that never expires has Redisson's score for that", async () => {
    const seen = await takePermits(ids("a"), { leaseMs: null });
    expect([...contentOf(seen, permit.grants, "zset").scores.values()]).toEqual([neverExpiresMs]);
  });

  test("layout 12: one that expires has the ms after which it is over, by the server's clock", async () => {
    const seen = await takePermits(ids("a"));
    const [till] = contentOf(seen, permit.grants, "zset").scores.values();
    expectSet((till ?? 0) - seen.nowMs, 30_000);
  });
});

test("layout 13: a latch says 1 when a count is set, 0 when it is zero, nothing between", async () => {
  const channel = "redisson_countdownlatch__channel__{orders}";
  expect((await latch("set", 2)).published).toEqual([[channel, "1"]]);
  expect((await latch("set", 5)).published).toEqual([]);
  expect((await latch("down", 1)).published).toEqual([]);
  const zero = await latch("down", 1);
  expect(zero.published).toEqual([[channel, "0"]]);
  expect(zero.keys.has(name)).toBe(false);
  expect((await latch("down", 1)).published).toEqual([]);
});

test("semaphore: the number alone is counted down, and a take sent twice counts once", async () => {
  const given = {
    owner: "u:1",
    permits: 2,
    initial: 5,
    notAfterMs: null,
    tokenTtlMs: 0,
    floor: 0n,
    markerMs: 60_000,
  };
  const keys = [semaphore.permits, semaphore.token, `${semaphore.markerPrefix}u:1`];
  await see(semaphoreTake, keys, semaphoreTake.args(given));
  const seen = await see(semaphoreTake, keys, semaphoreTake.args(given));
  expect(seen.answer).toMatchObject({ status: "granted", free: 3 });
  expect(contentOf(seen, name, "string").value).toBe("3");
});
