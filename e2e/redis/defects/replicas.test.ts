import { BackendError, UnsupportedError } from "@holdfast/core";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";

let master: RedisNode;
let replicas: readonly [RedisNode, RedisNode];
let names = 0;
const freshName = (): string => `acked-${++names}`;

beforeAll(async () => {
  master = await startRedis();
  replicas = [await startRedis(), await startRedis()];
  for (const replica of replicas) await replica.command("REPLICAOF", master.host, master.port);
  await online(2);
});
afterAll(() => Promise.all([master, ...(replicas ?? [])].map((node) => node?.stop())));

async function online(count: number): Promise<void> {
  await eventually(
    async () => {
      const info = await master.info("replication");
      return Object.values(info).filter((value) => value.includes("state=online")).length === count;
    },
    { what: `${count} replicas in step` },
  );
}

async function freeze(...those: RedisNode[]): Promise<void> {
  for (const node of those) await node.pause();
  onTestFinished(async () => {
    for (const node of those) node.resume();
    await online(2);
  });
}

async function open(options: Omit<RedisLocksOptions, "url">, url = master.url): Promise<RedisLocks> {
  const locks = redisLocks({ url, replicas: 2, ...options });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 500 });
  });
  await locks.ready();
  return locks;
}

it("defect 19: a grant that only the master has is none where replicas are asked for, and is taken back", async () => {
  const locks = await open({ acks: 1, waitTimeoutMs: 200 });
  await (await locks.mutex(freshName()).acquire()).release();
  await freeze(...replicas);
  const name = freshName();
  await expect(locks.mutex(name).tryAcquire()).rejects.toBeInstanceOf(BackendError);
  await eventually(async () => Number(await master.command("EXISTS", name)) === 0, { what: "the key to go" });
});

it("defect 20: one of two replicas that lags costs nothing with acks: 1, and renewal and release wait for none", async () => {
  const proxy = await startRedisProxy({ target: { host: "127.0.0.1", port: master.port } });
  onTestFinished(() => proxy.close());
  const locks = await open(
    { acks: 1, waitTimeoutMs: 5_000, leaseMs: 1_500 },
    `redis://${proxy.connectString}`,
  );
  await (await locks.mutex(freshName()).acquire()).release();
  const [lagging] = replicas;
  await freeze(lagging);
  proxy.reset();
  let renewed = 0;
  locks.events.on("renewed", () => renewed++);
  const startedMs = performance.now();
  const handle = await locks.mutex(freshName()).acquire();
  expect(performance.now() - startedMs).toBeLessThan(9_000);
  await eventually(() => renewed >= 2, { what: "two renewals" });
  const releasingMs = performance.now();
  expect(await handle.release()).toBe("released");
  expect(performance.now() - releasingMs).toBeLessThan(9_000);
  expect(proxy.counts().byName.WAIT).toBe(1);
});

it("defect 21: too few acknowledgements is an error with the numbers, and the lock is free after it", async () => {
  // The replica that is not frozen has to answer within this time, also on a busy machine.
  const locks = await open({ acks: 2, waitTimeoutMs: 2_000 });
  await (await locks.mutex(freshName()).acquire()).release();
  const [lagging] = replicas;
  await freeze(lagging);
  const name = freshName();
  const error: Error = await locks
    .mutex(name)
    .tryAcquire()
    .catch((each) => each);
  expect(error).toBeInstanceOf(BackendError);
  expect(error.message).toMatch(/1 of 2 replicas have it after 2000 ms, and acks asks for 2/);
  await eventually(async () => Number(await master.command("EXISTS", name)) === 0, { what: "the key to go" });
  // A provider that asks for no replicas goes on, as it does where there are none.
  const plain = await open({ acks: "none" });
  await (await plain.mutex(name).acquire({ waitMs: 10_000 })).release();
});

it("defect 21: the replicas asked for are those that are configured, not those that are there", async () => {
  const locks = await open({ replicas: 3, acks: "all" });
  const startedMs = performance.now();
  const error: Error = await locks
    .mutex(freshName())
    .tryAcquire()
    .catch((each) => each);
  expect(error.message).toContain("needs 3 of 3 replicas, and 2 are connected");
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});

it("defect 22: a server without WAIT is said to be one, with the option that helps", async () => {
  const managed = await startRedis({ config: { "rename-command": 'WAIT ""' } });
  onTestFinished(() => managed.stop());
  const locks = await open({ replicas: 1, acks: 1 }, managed.url);
  const refused = await eventually(
    async () => {
      const error = await locks
        .mutex(freshName())
        .tryAcquire()
        .catch((each) => each);
      return error instanceof UnsupportedError ? error : undefined;
    },
    { what: "the typed refusal" },
  );
  expect(refused.message).toContain('set acks: "none"');
  const plain = await open({ replicas: 0 }, managed.url);
  await (await plain.mutex(freshName()).acquire()).release();
});
