import { readFile } from "node:fs/promises";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type RedisLocks, redisLocks } from "../../src/index.js";

const name = "orders:42";
const laterMs = [1_000, 60_000, 3_600_000] as const;

/** Each operation of the page, from begin to end, alone on a name that was never used before. */
const operations: Readonly<Record<string, (locks: RedisLocks) => Promise<unknown>>> = {
  mutex: async (locks) => (await locks.mutex(name).acquire()).release(),
  fairMutex: async (locks) => (await locks.fairMutex(name).acquire()).release(),
  spinMutex: async (locks) => (await locks.spinMutex(name).acquire()).release(),
  "readWriteLock, read": async (locks) => (await locks.readWriteLock(name).read.acquire()).release(),
  "readWriteLock, write": async (locks) => (await locks.readWriteLock(name).write.acquire()).release(),
  semaphore: async (locks) => (await locks.semaphore(name, 3).acquire()).release(),
  plainSemaphore: async (locks) => (await locks.plainSemaphore(name, 3).acquire()).release(),
  permitSemaphore: async (locks) => {
    const semaphore = locks.permitSemaphore(name);
    await semaphore.setLimit(3);
    await (await semaphore.acquire()).release();
  },
  leaderElection: async (locks) => (await locks.leaderElection(name).campaign()).release(),
  countDownLatch: async (locks) => {
    const latch = locks.countDownLatch(name);
    await latch.trySetCount(1);
    await latch.countDown();
  },
  barrier: async (locks) => {
    await locks.barrier(name).shut();
    await locks.barrier(name).open();
  },
  doubleBarrier: async (locks) => (await locks.doubleBarrier(name, 1).enter()).leave(),
};

let server: RedisNode;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** The bytes of the keys that still exist at each of these times. They are computed from the TTLs, without waiting. */
async function bytesLeft(): Promise<number[]> {
  const bytes = laterMs.map(() => 0);
  for (const key of (await server.command("KEYS", "*")) as string[]) {
    const ttlMs = Number(await server.command("PTTL", key));
    const size = Number(await server.command("MEMORY", "USAGE", key));
    laterMs.forEach((ms, i) => {
      if (ttlMs === -1 || ttlMs > ms) bytes[i] = (bytes[i] as number) + size;
    });
  }
  return bytes;
}

/** The table of the page: an operation, and bytes after each of the three times. */
async function documented(): Promise<ReadonlyMap<string, readonly number[]>> {
  const page = await readFile(new URL("../../docs/keys.md", import.meta.url), "utf8");
  const [, table = ""] = /## What stays behind\n([\s\S]*?)(?=\n## )/.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| ([^|]+?) +\| +(\d+) \| +(\d+) \| +(\d+) \|$/gm)];
  return new Map(rows.map(([, operation = "", ...bytes]) => [operation, bytes.map(Number)]));
}

test("the page of keys names each operation that is measured, and no other", async () => {
  expect([...(await documented()).keys()]).toEqual(Object.keys(operations));
});

test.each(Object.keys(operations))("%s leaves as many bytes as the page of keys says", async (operation) => {
  await server.command("FLUSHALL");
  const locks = redisLocks({ url: server.url });
  onTestFinished(async () => {
    await locks.close();
  });
  await operations[operation]?.(locks);
  const bytes = await bytesLeft();
  const said = (await documented()).get(operation) ?? [];
  // The size of a key differs a little between versions and allocators. Where no key is left, 0 is exact.
  const near = said.map((each, i) => Math.abs(each - (bytes[i] as number)) <= each / 5);
  expect({ bytes, near }).toEqual({ bytes, near: laterMs.map(() => true) });
});
