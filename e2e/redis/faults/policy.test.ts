import type { LockHandle, PermitHandle } from "@holdfast/core";
import {
  type RedisLocks,
  type RedisLocksOptions,
  redisLocks,
  TooFewReplicasError,
} from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";

let master: RedisNode;
let replicas: readonly RedisNode[];

beforeAll(async () => {
  [master, ...replicas] = (await Promise.all([1, 2, 3].map(() => startRedis()))) as [
    RedisNode,
    ...RedisNode[],
  ];
  for (const replica of replicas) await replica.command("REPLICAOF", master.host, master.port);
  await eventually(async () => (await master.role()).replicas === 2, { what: "two replicas" });
  for (const replica of replicas) {
    await eventually(async () => (await replica.role()).link === "connected", { what: "a replica in step" });
  }
});
afterAll(() => Promise.all([master, ...replicas].map((node) => node.stop())));

async function client(
  options: Omit<RedisLocksOptions, "url">,
): Promise<{ readonly locks: RedisLocks; readonly link: RedisProxy }> {
  const link = await startRedisProxy({ target: master.address });
  const locks = redisLocks({
    url: `redis://${link.connectString}`,
    heartbeatMs: 20_000,
    aliveMs: 60_000,
    ...options,
  });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 300 });
    await link.close();
  });
  await locks.ready();
  return { locks, link };
}

let names = 0;
const freshName = (): string => `policy-${process.pid}-${++names}`;
const waits = (link: RedisProxy): number => link.counts().byName.WAIT ?? 0;

type Take = (locks: RedisLocks, name: string, waitMs?: number) => Promise<LockHandle | PermitHandle>;
const kinds: Readonly<Record<string, Take>> = {
  mutex: (locks, name, waitMs = 2_000) => locks.mutex(name).acquire({ waitMs }),
  "re-entrant mutex": (locks, name, waitMs = 2_000) => locks.reentrantMutex(name).acquire({ waitMs }),
  "fair mutex": (locks, name, waitMs = 2_000) => locks.fairMutex(name).acquire({ waitMs }),
  "spin mutex": (locks, name, waitMs = 2_000) => locks.spinMutex(name).acquire({ waitMs }),
  write: (locks, name, waitMs = 2_000) => locks.readWriteLock(name).write.acquire({ waitMs }),
  read: (locks, name, waitMs = 2_000) => locks.readWriteLock(name).read.acquire({ waitMs }),
  semaphore: (locks, name, waitMs = 2_000) => locks.plainSemaphore(name, 2).acquire({ waitMs }),
  "permit semaphore": async (locks, name, waitMs = 2_000) => {
    const semaphore = locks.permitSemaphore(name);
    await semaphore.trySetLimit(2);
    return await semaphore.acquire({ waitMs });
  },
};

it.each(Object.entries(kinds))(
  "a grant of a %s costs one WAIT; its renewal and release cost none",
  async (_kind, take) => {
    const { locks, link } = await client({ replicas: 2, acks: "all" });
    const name = freshName();
    // After this grant, the connection for grants with WAIT has introduced itself to the server, for which it sends one WAIT.
    await (await take(locks, name)).release();
    link.reset();
    const handle = await take(locks, name);
    expect(waits(link)).toBe(1);
    await handle.confirm();
    expect(await handle.release()).toBe("released");
    expect(waits(link)).toBe(1);
  },
);

it.each(Object.entries(kinds))(
  "a %s is refused at once, and not tried again, while replicas are missing",
  async (_kind, take) => {
    const { locks, link } = await client({ replicas: 3, acks: "all" });
    const startedMs = performance.now();
    const error = await take(locks, freshName(), 20_000).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(error).toBeInstanceOf(TooFewReplicasError);
    expect(error).toMatchObject({ needed: 3, configured: 3, connected: 2, retryable: false });
    expect(String(error)).toContain("acks");
    // The connection for grants with WAIT may have sent one when it introduced itself to the server.
    expect(waits(link)).toBeLessThanOrEqual(1);
  },
);

it("a lock that is handed over reaches its waiter only when replicas have the new holder's own renewal", async () => {
  const first = await client({});
  const second = await client({ replicas: 2, acks: "all", waitTimeoutMs: 5_000 });
  const name = freshName();
  const held = await first.locks.mutex(name).acquire();
  let granted = false;
  const waiting = second.locks.mutex(name).acquire({ waitMs: 20_000 });
  void waiting.then(() => {
    granted = true;
  });
  await eventually(async () => (await first.locks.mutex(name).inspect()).pendingTotal === 1, {
    what: "a waiter",
  });
  second.link.reset();
  const word = second.link.holdReply({ name: "WAIT" });
  await held.release();
  await word.hit();
  // The server has made `second` the holder and has answered its renewal. Only the answer to WAIT is held back.
  expect((await first.locks.mutex(name).inspect()).held).toHaveLength(1);
  expect(granted).toBe(false);
  word.release();
  const handle = await waiting;
  expect(second.link.counts().byName).toMatchObject({ WAIT: 1 });
  expect(await handle.release()).toBe("released");
  expect(second.link.counts().byName).toMatchObject({ WAIT: 1 });
});

it("a grant that too few replicas have is taken back, and the next caller gets the lock", async () => {
  // The replica that is not frozen has to answer within this time, also on a busy machine.
  const { locks } = await client({ replicas: 2, acks: "all", waitTimeoutMs: 2_000 });
  const plain = await client({});
  const name = freshName();
  const [frozen] = replicas as [RedisNode];
  await frozen.pause();
  onTestFinished(() => frozen.resume());
  await expect(locks.mutex(name).tryAcquire()).rejects.toThrow("1 of 2 replicas have it");
  await (await plain.locks.mutex(name).acquire({ waitMs: 10_000 })).release();
});
