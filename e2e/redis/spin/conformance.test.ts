import type { LockHandle, LockProvider } from "@holdfast/core";
import { derivedMutexConformance } from "@holdfast/core/testing";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { hiddenFixture } from "../semaphore/hidden-waiters.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

derivedMutexConformance(
  "Redis, one server",
  "spin mutex",
  (provider, name) => (provider as RedisLocks).spinMutex(name),
  async () => {
    const asking = new Map<string, Map<object, number>>();
    const fixture = await hiddenFixture(node, {
      adapt: (provider) => follow(provider, asking),
      async loseHold(redis, handle: LockHandle) {
        await redis.command("DEL", handle.name);
      },
    });
    return { ...fixture, waiting: (name: string) => refused(asking.get(name)) };
  },
);

/** Spinners leave no trace at all: who has asked for so long, and has no answer, has been refused. */
const refusedAfterMs = 100;

function follow({ events }: LockProvider, asking: Map<string, Map<object, number>>): void {
  events.on("acquire-started", ({ name, owner }) => {
    const owners = asking.get(name) ?? new Map<object, number>();
    asking.set(name, owners.set(owner, performance.now()));
  });
  events.on("acquire-settled", ({ name, owner }) => {
    asking.get(name)?.delete(owner);
  });
}

function refused(owners: Map<object, number> | undefined): number {
  const sinceMs = performance.now() - refusedAfterMs;
  return [...(owners?.values() ?? [])].filter((startedMs) => startedMs < sinceMs).length;
}
