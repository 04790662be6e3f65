import { setImmediate } from "node:timers/promises";
import { InvalidArgumentError } from "@holdfast/core";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { type RedisCluster, startRedisCluster } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 3, replicas: 0 });
}, 300_000);
afterAll(() => cluster?.stop());

async function locks(options: Omit<RedisLocksOptions, "cluster"> = {}): Promise<RedisLocks> {
  const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  const provider = redisLocks({ cluster: { nodes }, ...options });
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
  ["semaphore of one", (provider, name) => provider.plainSemaphore(name, 1).acquire({ waitMs: 10_000 })],
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

/** Six names, with at least one at each of the three masters. */
async function spread(what: string): Promise<string[]> {
  const names = Array.from({ length: 6 }, (_, i) => `${what}-${i}`);
  const served = await Promise.all(names.map((name) => cluster.nodeOfSlot(cluster.slotOf(name))));
  expect(new Set(served).size).toBe(3);
  return names;
}

async function exists(key: string, tag: string): Promise<number> {
  const node = await cluster.nodeOfSlot(cluster.slotOf(tag));
  return Number(await node.command("EXISTS", key));
}

it("48: in a cluster writers are alone and readers overlap, on names of every master, and counters are exact", async () => {
  const clients = [await locks(), await locks()];
  const rounds = 4;
  const done = (await spread("rw")).map(async (name) => {
    const seen = { readers: 0, writers: 0, most: 0, wrong: 0, count: 0 };
    const write = async (each: RedisLocks): Promise<void> => {
      for (let i = 0; i < rounds; i++) {
        await each.readWriteLock(name).write.withLock(async () => {
          if (seen.readers + seen.writers++ > 0) seen.wrong++;
          const { count } = seen;
          await setImmediate();
          seen.count = count + 1;
          seen.writers--;
        });
      }
    };
    const read = async (each: RedisLocks): Promise<void> => {
      for (let i = 0; i < rounds; i++) {
        await each.readWriteLock(name).read.withLock(async () => {
          seen.most = Math.max(seen.most, ++seen.readers);
          if (seen.writers > 0) seen.wrong++;
          await setImmediate();
          seen.readers--;
        });
      }
    };
    await Promise.all([...clients.map(write), ...clients.map(read), ...clients.map(read)]);
    expect(seen).toMatchObject({ wrong: 0, count: 2 * rounds, readers: 0, writers: 0 });
    expect(await exists(name, name)).toBe(0);
    return seen.most;
  });
  expect(Math.max(...(await Promise.all(done)))).toBeGreaterThan(1);
});

it("48: in a cluster a downgrade lets waiting readers in at once and keeps writers out, and read leases are renewed", async () => {
  // On a busy machine renewals come late, and the holds must outlast that.
  const leaseMs = 3_000;
  const [one, other] = [await locks({ leaseMs, heartbeatMs: 200 }), await locks({ heartbeatMs: 200 })];
  for (const name of await spread("down")) {
    const write = await one.readWriteLock(name).write.acquire();
    expect(await other.readWriteLock(name).read.tryAcquire()).toBeNull();
    const reading = other.readWriteLock(name).read.acquire({ waitMs: 10_000 });
    const read = await write.downgrade();
    const beside = await reading;
    expect(await other.readWriteLock(name).write.tryAcquire()).toBeNull();
    await beside.release();
    await read.confirm();
    expect(await read.release()).toBe("released");
    expect(await exists(name, name)).toBe(0);
  }
  const read = await one.readWriteLock("renewed").read.acquire();
  const grantedMs = performance.now();
  await expect.poll(() => performance.now() - grantedMs, { timeout: 20_000 }).toBeGreaterThan(1.3 * leaseMs);
  read.assertHeld();
  await read.confirm();
});

it("59: in a cluster permits with a prefix are in the slot of the prefixed name, counted, and back after their time", async () => {
  const provider = await locks({ keyPrefix: "fleet:" });
  const turns = (await spread("permits")).map(async (name) => {
    const semaphore = provider.permitSemaphore(name);
    await semaphore.setLimit(3);
    const short = await semaphore.acquire({ permits: 2, leaseMs: 3_000, renew: false });
    const stays = await semaphore.acquire();
    expect(await semaphore.inspect()).toMatchObject({ limit: 3, available: 0 });
    expect(await exists(`fleet:${name}`, `fleet:${name}`)).toBe(1);
    expect(await exists(`{fleet:${name}}:timeout`, `fleet:${name}`)).toBe(1);
    await expect.poll(() => short.state, { timeout: 20_000 }).toBe("lost");
    const next = await semaphore.acquire({ permits: 2, waitMs: 5_000 });
    expect(await semaphore.inspect()).toMatchObject({ limit: 3, available: 0 });
    for (const permit of [stays, next]) expect(await permit.release()).toBe("released");
    expect(await semaphore.inspect()).toMatchObject({ limit: 3, available: 3 });
  });
  await Promise.all(turns);
});

const factories: readonly [string, (provider: RedisLocks, name: string) => unknown][] = [
  ["mutex", (provider, name) => provider.mutex(name)],
  ["re-entrant mutex", (provider, name) => provider.reentrantMutex(name)],
  ["fair mutex", (provider, name) => provider.fairMutex(name)],
  ["spin mutex", (provider, name) => provider.spinMutex(name)],
  ["read-write lock", (provider, name) => provider.readWriteLock(name)],
  ["re-entrant read-write lock", (provider, name) => provider.reentrantReadWriteLock(name)],
  ["semaphore", (provider, name) => provider.plainSemaphore(name, 1)],
  ["permit semaphore", (provider, name) => provider.permitSemaphore(name)],
  ["leader election", (provider, name) => provider.leaderElection(name)],
  ["latch", (provider, name) => provider.countDownLatch(name)],
  ["barrier", (provider, name) => provider.barrier(name)],
  ["double barrier", (provider, name) => provider.doubleBarrier(name, 2)],
];

it.each(factories)(
  "a %s has no name that is empty, longer than 512 bytes, or that a cluster cannot keep in one slot: refused before any I/O",
  async (_kind, open) => {
    const provider = await locks();
    for (const name of ["", "n".repeat(513), "\u{1f512}".repeat(129), undefined as unknown as string]) {
      expect(() => open(provider, name)).toThrow(InvalidArgumentError);
    }
    for (const name of ["a{b", "{a", "a{}b", "}a{b", "{}{a}", "a}b"]) {
      expect(() => open(provider, name), name).toThrow(InvalidArgumentError);
    }
    expect(() => open(provider, "n".repeat(512))).not.toThrow();
    expect(() => open(provider, "\u{1f512}".repeat(128))).not.toThrow();
    const prefixed = await locks({ keyPrefix: "a{" });
    expect(() => open(prefixed, "b"), "a prefix").toThrow(InvalidArgumentError);
  },
);

it("in a cluster the longest names, and those with a hash tag, are kept in one slot and work", async () => {
  const provider = await locks();
  for (const name of ["n".repeat(512), "orders:{42}:lines", "{42}", "a{b}c{d}", "a{b}}"]) {
    await (await provider.mutex(name).acquire({ waitMs: 5_000 })).release();
    await (await provider.fairMutex(name).acquire({ waitMs: 5_000 })).release();
    const write = await provider.readWriteLock(name).write.acquire({ waitMs: 5_000 });
    await (await write.downgrade()).release();
    await provider.permitSemaphore(name).setLimit(1);
    await (await provider.permitSemaphore(name).acquire({ waitMs: 5_000 })).release();
  }
});

it("in a cluster a latch cannot have a name with braces, whose channel is elsewhere, and a mutex can", async () => {
  const provider = await locks();
  expect(() => provider.countDownLatch("a{b}c")).toThrow(InvalidArgumentError);
  await (await provider.fairMutex("a{b}c").acquire()).release();
});
