import type { AcquireOptions } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const count = 5_000;
const dying = (2 * count) / 5;
const waitMs = 600_000;
const alive = "holdfast_alive:{orders}";

interface Hold {
  release(): Promise<string>;
}

interface Kind {
  readonly what: string;
  /** The list with the waiters, oldest first, each beginning with its owner. */
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
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis?.disconnect();
  await server?.stop();
});

describe.each(kinds)("$what", ({ queue, acquire }) => {
  it("many of its waiters die at once: all others keep their places, and no lock of another name is lost", async () => {
    await redis.flushall();
    const link = await startRedisProxy({ target: { host: server.host, port: server.port } });
    const bystander = redisLocks({ url: server.url, leaseMs: 3_000 });
    const mortal = redisLocks({ url: `redis://${link.host}:${link.port}` });
    const living = redisLocks({ url: server.url });
    try {
      const lost: string[] = [];
      bystander.events.on("lost", ({ name }) => lost.push(name));
      await Promise.all([bystander, mortal, living].map((locks) => locks.ready()));
      await bystander.mutex("another").acquire();
      const held = await acquire(bystander, "orders");
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
      expect(lost).toEqual([]);
    } finally {
      await Promise.all([bystander, living].map((locks) => locks.close()));
      await mortal.close({ releaseTimeoutMs: 1 });
    }
  });
});
