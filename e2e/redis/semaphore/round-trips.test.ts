import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { startRedisProxy } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";
import { OneServer } from "../latch/one-server.js";

const server = new OneServer();

type Hold = { release(): Promise<string> };

const kinds: readonly [string, (locks: RedisLocks, name: string) => Promise<Hold>][] = [
  ["fair mutex", (locks, name) => locks.fairMutex(name).acquire()],
  ["spin mutex", (locks, name) => locks.spinMutex(name).acquire()],
  ["read lock", (locks, name) => locks.readWriteLock(name).read.acquire()],
  ["write lock", (locks, name) => locks.readWriteLock(name).write.acquire()],
  ["semaphore", (locks, name) => locks.semaphore(name, 3).acquire({ permits: 2 })],
  ["permit semaphore", (locks, name) => locks.permitSemaphore(name).acquire({ permits: 2 })],
  ["leadership", (locks, name) => locks.leaderElection(name).campaign()],
];

it.each(kinds)("a free %s costs one round trip to take and one to give back", async (_kind, take) => {
  const link = await startRedisProxy({ target: { host: "127.0.0.1", port: server.node.port } });
  const locks = redisLocks({ url: `redis://127.0.0.1:${link.port}` });
  onTestFinished(async () => {
    await locks.close();
    await link.close();
  });
  await locks.ready();
  const name = server.name("cost");
  // The first use subscribes to what holders are told, once for each provider.
  await (await locks.mutex(`${name}-other`).acquire()).release();
  if (_kind === "permit semaphore") await locks.permitSemaphore(name).setLimit(3);
  const scripts = () =>
    link.trace.filter((entry) => entry.kind === "command" && /^EVAL/.test(entry.name)).length;
  const before = scripts();
  const hold = await take(locks, name);
  expect(scripts() - before).toBe(1);
  expect(await hold.release()).toBe("released");
  expect(scripts() - before).toBe(2);
});
