import type { AcquireOptions, LockHandle, Semaphore } from "@holdfast/core";
import { semaphoreConformance } from "@holdfast/core/testing";
import { RedisProvider } from "@holdfast/redis-recipes/internal";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { hiddenFixture } from "../semaphore/hidden-waiters.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

type WithLimit = {
  semaphoreOfKind(kind: string, name: string, limit: number, options?: AcquireOptions): Semaphore;
};

semaphoreConformance("Redis, one server, permits with leases", () =>
  hiddenFixture(node, {
    /** The suite's semaphores are told their limit: as a permit semaphore would be whose limit everybody gives. */
    adapt(provider) {
      if (!(provider instanceof RedisProvider)) throw new Error("not a provider on Redis");
      const inner = provider as unknown as WithLimit;
      provider.semaphore = (name, limit, options) =>
        inner.semaphoreOfKind("permit-semaphore", name, limit, options);
    },
    /** The permits go back to the pool, as those whose time is over. */
    async loseHold(redis, handle) {
      const { name, permitIds } = handle as LockHandle & { permitIds: readonly string[] };
      const drop =
        "for i = 1, #ARGV do local id = string.gsub(ARGV[i], '..', function(p) return string.char(tonumber(p, 16)) end) redis.call('ZREM', KEYS[2], id) end " +
        "redis.call('PUBLISH', ARGV[1], redis.call('INCRBY', KEYS[1], #ARGV))";
      const drop1 = drop.replace("ARGV[1], redis", "KEYS[3], redis");
      await redis.command("EVAL", drop1, 3, name, `{${name}}:timeout`, `redisson_sc:{${name}}`, ...permitIds);
    },
    waiting: (desk, name) => desk.rooms.waitingOn(`redisson_sc:{${name}}`),
  }),
);
