import type { AcquireOptions } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisOwnerProcess } from "../../support/redis/redis-owner-process.js";

const count = 5_000;
const dying = (2 * count) / 5;
const waitMs = 600_000;
const alive = "holdfast_alive:{orders}";
/** How many commands that took more than a millisecond the server remembers. */
const slowest = 20_000;

interface Hold {
  release(): Promise<string>;
}

interface Kind {
  readonly what: string;
  /** The key of the list of waiters, oldest first. Each entry begins with the waiter's owner. */
  readonly queue: string;
  acquire(locks: RedisLocks, name: string, options?: AcquireOptions): Promise<Hold>;
}

const kinds: readonly Kind[] = [
  {
    what: "fair mutex",
    queue: "redisson_lock_queue:{orders}",
    acquire: (locks, name, options) => locks.fairMutex(name).acquire(options),
  },
  {
    what: "mutex",
    queue: "holdfast_waiters:{orders}",
    acquire: (locks, name, options) => locks.mutex(name).acquire(options),
  },
];

let server: RedisNode;
let redis: Redis;
/** Runs in a process of its own, which is never late with its renewals: this process has all the waiters. */
let bystander: RedisOwnerProcess;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  await redis.config("SET", "slowlog-log-slower-than", 1_000, "slowlog-max-len", slowest);
  [bystander] = (await RedisOwnerProcess.start(1, server.url, { leaseMs: 3_000 })) as [RedisOwnerProcess];
});
afterAll(async () => {
  await bystander?.close();
  redis?.disconnect();
  await server?.stop();
});

/**
 * The longest script by the wall clock, which includes the time that the rest of the machine took. In processor time a script
 * may take 20 ms: the tests of the scripts measure that.
 */
async function longestScriptMs(): Promise<number> {
  const log = (await redis.slowlog("GET", slowest)) as [number, number, number, string[]][];
  expect(log.length).toBeLessThan(slowest);
  const scripts = log.filter(([, , , [command = ""]]) => /^eval/i.test(command));
  return Math.max(0, ...scripts.map(([, , micros]) => micros / 1_000));
}

describe.each(kinds)("$what", ({ what, queue, acquire }) => {
  it("many of its waiters die at once: all others keep their places, and no lock of another name is lost", async () => {
    await redis.flushall();
    await redis.slowlog("RESET");
    const link = await startRedisProxy({ target: { host: server.host, port: server.port } });
    const holder = redisLocks({ url: server.url });
    const mortal = redisLocks({ url: `redis://${link.host}:${link.port}` });
    const living = redisLocks({ url: server.url });
    try {
      await Promise.all([holder, mortal, living].map((locks) => locks.ready()));
      expect(await bystander.take("another", "bystander")).not.toBeNull();
      const held = await acquire(holder, "orders");
      const ended: Promise<unknown>[] = [];
      const grants: Hold[] = [];
      for (let waiter = 0; waiter < count; waiter++) {
        const doomed = waiter % 5 < 2;
        const granted = acquire(doomed ? mortal : living, "orders", { waitMs });
        ended.push(
          granted.then(
            (hold) => grants.push(hold),
            (error: Error) => error.name,
          ),
        );
      }
      await eventually(async () => (await redis.llen(queue)) === count, { what: "all to stand in line" });
      const before = await redis.lrange(queue, 0, -1);

      await link.close();
      await eventually(async () => (await redis.zcount(alive, Date.now(), "+inf")) === count - dying, {
        what: "the dead to count as dead",
      });
      const [survivor = ""] = ((await redis.zrange(alive, "-1", "-1"))[0] ?? "").split(":");
      const inLine = async () =>
        (await redis.lrange(queue, 0, -1)).filter((entry) => entry.startsWith(survivor));
      expect(await inLine()).toEqual(before.filter((entry) => entry.startsWith(survivor)));

      await held.release();
      for (let turn = 1; turn <= 20; turn++) {
        await eventually(() => grants.length === turn, { what: `grant ${turn}` });
        expect((await inLine()).length).toBe(count - dying - turn);
        await grants[turn - 1]?.release();
      }

      await living.close();
      expect(await inLine()).toEqual([]);
      await mortal.close({ releaseTimeoutMs: 1 });
      await Promise.all(ended);
      expect(await bystander.release("another")).toBe("released");
      console.log(`${what}: the longest script took ${await longestScriptMs()} ms`);
    } finally {
      await Promise.all([holder, living].map((locks) => locks.close()));
      await mortal.close({ releaseTimeoutMs: 1 });
    }
  });
});
