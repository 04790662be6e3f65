import { readWriteLockConformance, reentrantReadWriteLockConformance } from "@holdfast/core/testing";
import type { deskOf } from "@holdfast/redis-recipes/internal";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { hiddenFixture } from "../semaphore/hidden-waiters.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

/** One hold goes, and with the last one the lock; nobody is told. */
const endHold = `
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
if redis.call('HLEN', KEYS[1]) <= 1 then
  redis.call('DEL', KEYS[1])
elseif string.match(ARGV[1], ':write$') then
  redis.call('HSET', KEYS[1], 'mode', 'read')
end
`;

type Provider = Parameters<typeof deskOf>[0];

const fixture = () => {
  const providers: Provider[] = [];
  return hiddenFixture(node, {
    adapt: (provider) => {
      providers.push(provider);
    },
    async loseHold(redis, handle) {
      const { name } = handle;
      for (const provider of providers) {
        if (provider.state === "closed" || !provider.holds().some((each) => each.owner === handle.owner))
          continue;
        const { held } = await provider.readWriteLock(name).inspect();
        const own = held.find((info) => info.owner === handle.owner && info.mode === handle.mode);
        if (own === undefined) throw new Error(`nothing at the server of ${name}`);
        await redis.command(
          "EVAL",
          endHold,
          2,
          name,
          `{${name}}:${own.backendId}:rwlock_timeout:1`,
          own.backendId,
        );
        return;
      }
      throw new Error(`nobody here holds ${name}`);
    },
    waiting: (desk, name) => desk.rooms.waitingOn(`redisson_rwlock:{${name}}`) + desk.waits.waitingOn(name),
  });
};

readWriteLockConformance("Redis, one server", fixture);
reentrantReadWriteLockConformance("Redis, one server", fixture);
