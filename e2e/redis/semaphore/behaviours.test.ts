import { expect, it } from "vitest";
import { OneServer } from "../latch/one-server.js";

const server = new OneServer();

it("49: an acquire without a number set waits or is refused, and a number lets it in", async () => {
  const name = server.name("unset");
  const semaphore = (await server.locks()).permitSemaphore(name);
  expect(await semaphore.tryAcquire()).toBeNull();
  expect(await semaphore.limit()).toBe(0);
  const waiting = semaphore.acquire({ waitMs: 10_000 });
  expect(await semaphore.trySetLimit(1)).toBe(true);
  await (await waiting).release();
});

it("50: a limit is set once by trySetLimit, and changed by setLimit", async () => {
  const name = server.name("once");
  const semaphore = (await server.locks()).permitSemaphore(name);
  expect(await semaphore.trySetLimit(2)).toBe(true);
  expect(await semaphore.trySetLimit(5)).toBe(false);
  expect(await semaphore.limit()).toBe(2);
  await semaphore.setLimit(5);
  expect(await semaphore.limit()).toBe(5);
});

it("50: the first take of a semaphore sets the number, and a number that is there stays", async () => {
  const name = server.name("first");
  const locks = await server.locks();
  const permit = await locks.semaphore(name, 3).acquire();
  expect(await server.number("GET", name)).toBe(2);
  await permit.release();
  await server.node.command("SET", name, 1);
  const other = await locks.semaphore(name, 3).acquire();
  expect(await server.number("GET", name)).toBe(0);
  await other.release();
});

it("51: permits added by another client, with Redisson's message, wake a waiter that needs several", async () => {
  const name = server.name("added");
  const semaphore = (await server.locks()).semaphore(name, 3);
  await server.node.command("SET", name, 0);
  const waiting = semaphore.acquire({ permits: 3, waitMs: 10_000 });
  await server.node.command("SET", name, 3);
  await server.node.command("PUBLISH", `redisson_sc:{${name}}`, 3);
  const permit = await waiting;
  expect(await server.number("GET", name)).toBe(0);
  await permit.release();
});

it("51: a negative number of permits refuses, and a release repairs it", async () => {
  const name = server.name("negative");
  const locks = await server.locks();
  const held = await locks.semaphore(name, 1).acquire();
  await server.node.command("SET", name, -1);
  expect(await locks.semaphore(name, 1).tryAcquire()).toBeNull();
  expect(await held.release()).toBe("released");
  expect(await server.number("GET", name)).toBe(0);
});

it("53: a release gives back what was taken, once, and publishes the new number", async () => {
  const name = server.name("give");
  const locks = await server.locks();
  const permit = await locks.semaphore(name, 4).acquire({ permits: 2 });
  expect(await server.number("GET", name)).toBe(2);
  expect(await permit.release()).toBe("released");
  expect(await permit.release()).toBe("released");
  expect(await server.number("GET", name)).toBe(4);
});

it("54: permit ids are unique, 32 hex digits, and 16 raw bytes at the server", async () => {
  const name = server.name("ids");
  const semaphore = (await server.locks()).permitSemaphore(name);
  await semaphore.setLimit(3);
  const one = await semaphore.acquire({ permits: 2 });
  const two = await semaphore.acquire();
  const ids = [...one.permitIds, ...two.permitIds];
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
  const length = "return string.len(redis.call('ZRANGE', KEYS[1], 0, 0)[1])";
  expect(await server.number("EVAL", length, "1", `{${name}}:timeout`)).toBe(16);
});

it("55: a permit whose time is over goes to the next, and its late release reports a loss", async () => {
  const name = server.name("expired");
  const semaphore = (await server.locks()).permitSemaphore(name);
  await semaphore.setLimit(1);
  const first = await semaphore.acquire({ leaseMs: 300, renew: false });
  const second = await (await server.locks()).permitSemaphore(name).acquire({ waitMs: 10_000 });
  expect(await first.release()).toBe("lost");
  await second.confirm();
  expect(await semaphore.limit()).toBe(1);
  await second.release();
});

it("57: permits are renewed while they are held, and a renewal of one that is gone tells its loss", async () => {
  const name = server.name("renewed");
  const semaphore = (await server.locks({ leaseMs: 900 })).permitSemaphore(name);
  await semaphore.setLimit(1);
  const permit = await semaphore.acquire();
  const score = async () =>
    Number((await server.texts("ZRANGE", `{${name}}:timeout`, "0", "0", "WITHSCORES"))[1]);
  const before = await score();
  await expect.poll(score, { timeout: 5_000 }).toBeGreaterThan(before);
  await server.node.command("DEL", `{${name}}:timeout`);
  await expect.poll(() => permit.lost.aborted, { timeout: 5_000 }).toBe(true);
});

it("58: a limit is raised, lowered, and lowered below what is held", async () => {
  const name = server.name("moved");
  const semaphore = (await server.locks()).permitSemaphore(name);
  await semaphore.setLimit(2);
  const held = [await semaphore.acquire(), await semaphore.acquire()];
  const waiting = semaphore.acquire({ waitMs: 10_000 });
  await semaphore.setLimit(3);
  held.push(await waiting);
  await semaphore.setLimit(1);
  expect(await server.number("GET", name)).toBe(-2);
  expect(await semaphore.tryAcquire()).toBeNull();
  for (const permit of held) await permit.release();
  expect((await semaphore.inspect()).available).toBe(1);
});

it("59: a prefix is on the number and on the grants", async () => {
  const name = server.name("prefixed");
  const semaphore = (await server.locks({ keyPrefix: "fleet:" })).permitSemaphore(name);
  await semaphore.setLimit(1);
  await semaphore.acquire();
  expect(await server.number("EXISTS", `fleet:${name}`, `{fleet:${name}}:timeout`)).toBe(2);
});
