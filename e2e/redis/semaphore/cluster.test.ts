import { InvalidArgumentError } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { type RedisCluster, startRedisCluster } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 3, replicas: 0 });
}, 60_000);
afterAll(() => cluster?.stop());

async function locks(): Promise<RedisLocks> {
  const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  const provider = redisLocks({ cluster: { nodes } });
  onTestFinished(async () => {
    await provider.close();
  });
  await provider.ready();
  return provider;
}

type Hold = { release(): Promise<string> };
type Take = (provider: RedisLocks, name: string) => Promise<Hold>;

const exclusive: readonly [string, Take][] = [
  ["fair mutex", (provider, name) => provider.fairMutex(name).acquire({ waitMs: 10_000 })],
  ["spin mutex", (provider, name) => provider.spinMutex(name).acquire({ waitMs: 10_000 })],
  ["write lock", (provider, name) => provider.readWriteLock(name).write.acquire({ waitMs: 10_000 })],
  ["semaphore of one", (provider, name) => provider.semaphore(name, 1).acquire({ waitMs: 10_000 })],
  ["leadership", (provider, name) => provider.leaderElection(name).campaign({ waitMs: 10_000 })],
];

it.each(exclusive)(
  "in a cluster a %s is handed from client to client on names of many slots",
  async (_kind, take) => {
    const [one, other] = [await locks(), await locks()];
    const names = Array.from({ length: 12 }, (_, i) => `slot-${_kind.replaceAll(" ", "-")}-${i}`);
    const held = await Promise.all(names.map((name) => take(one, name)));
    const waiting = names.map((name) => take(other, name));
    await Promise.all(held.map((hold) => hold.release()));
    for (const hold of await Promise.all(waiting)) expect(await hold.release()).toBe("released");
  },
);

it("in a cluster readers come in when a writer leaves, a latch opens and a barrier lets through", async () => {
  const [one, other] = [await locks(), await locks()];
  const write = await one.readWriteLock("rw").write.acquire();
  const reading = other.readWriteLock("rw").read.acquire({ waitMs: 10_000 });
  await write.release();
  await (await reading).release();
  await one.countDownLatch("latch").trySetCount(1);
  const opening = other.countDownLatch("latch").wait({ waitMs: 10_000 });
  await one.countDownLatch("latch").countDown();
  await opening;
  const meeting = [one, other].map((each) => each.doubleBarrier("meet", 2).enter({ waitMs: 10_000 }));
  const inside = await Promise.all(meeting);
  await Promise.all(inside.map((each) => each.leave({ waitMs: 10_000 })));
});

it("in a cluster a latch cannot have a name with braces, whose channel is elsewhere, and a mutex can", async () => {
  const provider = await locks();
  expect(() => provider.countDownLatch("a{b}c")).toThrow(InvalidArgumentError);
  await (await provider.fairMutex("a{b}c").acquire()).release();
});
