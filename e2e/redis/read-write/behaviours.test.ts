import { LayoutConflictError } from "@holdfast/core";
import { expect, it } from "vitest";
import { OneServer } from "../latch/one-server.js";

const server = new OneServer();

it("37: a downgraded write keeps writers out until its read is released", async () => {
  const name = server.name("downgrade");
  const lock = (await server.locks()).readWriteLock(name);
  const other = (await server.locks()).readWriteLock(name);
  const write = await lock.write.acquire();
  expect(await server.texts("HMGET", name, "mode")).toEqual(["write"]);
  const read = await write.downgrade();
  expect(await server.texts("HMGET", name, "mode")).toEqual(["read"]);
  expect(await other.write.tryAcquire()).toBeNull();
  await read.release();
  await (await other.write.acquire({ waitMs: 5_000 })).release();
});

it("38: a write blocks readers, and all that wait come in after its release", async () => {
  const name = server.name("all-in");
  const lock = (await server.locks()).readWriteLock(name);
  const others = [await server.locks(), await server.locks()];
  const write = await lock.write.acquire();
  expect(await (others[0] as (typeof others)[0]).readWriteLock(name).read.tryAcquire()).toBeNull();
  const reading = others.flatMap((each) =>
    Array.from({ length: 3 }, () => each.readWriteLock(name).read.acquire({ waitMs: 10_000 })),
  );
  const channel = `redisson_rwlock:{${name}}`;
  await expect.poll(() => server.texts("PUBSUB", "NUMSUB", channel)).toContain("2");
  await write.release();
  const readers = await Promise.all(reading);
  for (const reader of readers) await reader.confirm();
  for (const reader of readers) await reader.release();
});

it("defect 30: readers that wait are told of a downgrade at once, not at the end of a lease", async () => {
  const name = server.name("told");
  const write = await (await server.locks()).readWriteLock(name).write.acquire();
  const reading = (await server.locks()).readWriteLock(name).read.acquire({ waitMs: 10_000 });
  await expect.poll(() => server.texts("PUBSUB", "NUMSUB", `redisson_rwlock:{${name}}`)).toContain("1");
  const startedMs = performance.now();
  const read = await write.downgrade();
  await (await reading).release();
  expect(performance.now() - startedMs).toBeLessThan(600);
  await read.release();
});

it("39: the hash lives as long as the longest read lease, and one that ends frees nobody else", async () => {
  const name = server.name("longest");
  const locks = await server.locks();
  const { read } = locks.readWriteLock(name);
  const short = await read.acquire({ leaseMs: 400, renew: false });
  const long = await read.acquire({ leaseMs: 20_000, renew: false });
  expect(await server.number("PTTL", name)).toBeGreaterThan(15_000);
  await expect.poll(() => short.state, { timeout: 5_000 }).toBe("lost");
  await long.confirm();
  expect(await (await server.locks()).readWriteLock(name).write.tryAcquire()).toBeNull();
  await long.release();
});

it("43: each side has its lease as the time that is left, and re-entry adds nothing to it", async () => {
  const name = server.name("ttl");
  const lock = (await server.locks({ leaseMs: 30_000 })).reentrantReadWriteLock(name);
  await lock.write.withLock(async () => {
    await lock.write.withLock(async () => {
      expect(await server.number("PTTL", name)).toBeLessThanOrEqual(30_000);
    });
    expect(await server.number("PTTL", name)).toBeGreaterThan(25_000);
  });
  expect(await server.number("EXISTS", name)).toBe(0);
});

it("46: a reader that died does not block a writer after the live ones leave", async () => {
  const name = server.name("zombie");
  const lock = (await server.locks()).readWriteLock(name);
  const live = await lock.read.acquire();
  await server.node.command("HSET", name, "11111111-1111-4111-8111-111111111111:7", 1);
  const writing = (await server.locks()).readWriteLock(name).write.acquire({ waitMs: 10_000 });
  await server.untilLong(`holdfast_waiters:{${name}}`, 1);
  const startedMs = performance.now();
  await live.release();
  await (await writing).release();
  expect(performance.now() - startedMs).toBeLessThan(2_000);
});

it("defect 33: a read over a mutex of the same name is refused, where Redisson would grant it beside the holder", async () => {
  const name = server.name("mixed");
  const locks = await server.locks();
  const held = await locks.mutex(name).acquire();
  await expect(locks.readWriteLock(name).read.acquire()).rejects.toBeInstanceOf(LayoutConflictError);
  await expect(locks.readWriteLock(name).write.acquire()).rejects.toBeInstanceOf(LayoutConflictError);
  await held.release();
  const read = await locks.readWriteLock(name).read.acquire();
  await expect(locks.mutex(name).acquire()).rejects.toBeInstanceOf(LayoutConflictError);
  await read.release();
});

it("defect 32: while a writer of ours stands first, readers of ours do not pass it", async () => {
  const name = server.name("preference");
  const lock = (await server.locks()).readWriteLock(name);
  const reader = await lock.read.acquire();
  const writing = (await server.locks()).readWriteLock(name).write.acquire();
  await server.untilLong(`holdfast_waiters:{${name}}`, 1);
  expect(await lock.read.tryAcquire()).toBeNull();
  await reader.release();
  await (await writing).release();
});
