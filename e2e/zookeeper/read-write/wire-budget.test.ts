import {
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;
let locks: ZooKeeperLocks;
let path: string;
let paths = 0;

beforeAll(async () => {
  server = await startZooKeeper({ maxClientCnxns: 0 });
  proxy = await startZooKeeperProxy({ target: server.connectString });
});
afterAll(async () => {
  await proxy.close();
  await server.stop();
});
beforeEach(async () => {
  locks = await connected(proxy.connectString, { sessionTimeoutMs: 30_000 });
  path = `/budget/rw${paths++}`;
  // The parents are there from now on.
  await (await locks.readWriteLock(path).read.acquire()).release();
});

/** Requests and round trips of what `work` does. */
async function cost<T>(work: () => Promise<T>): Promise<{ done: T; requests: number; flights: number }> {
  proxy.reset();
  const done = await work();
  const { requests, flights } = proxy.counts();
  return { done, requests, flights };
}

describe("a read-write lock", () => {
  it.each(["read", "write"] as const)(
    "is taken for %s in one round trip and released in one",
    async (side) => {
      const { done: handle, ...taken } = await cost(() => locks.readWriteLock(path)[side].acquire());
      expect(taken).toEqual({ requests: 2, flights: 1 });
      expect(await cost(() => handle.release())).toMatchObject({ requests: 1, flights: 1 });
    },
  );

  it("is read by its writer in one round trip", async () => {
    const lock = locks.reentrantReadWriteLock(path);
    const owner = { id: "writer" };
    const write = await lock.write.acquire({ owner });
    const { done: read, ...taken } = await cost(() => lock.read.acquire({ owner }));
    expect(taken.flights).toBe(1);
    expect(await cost(() => write.release())).toMatchObject({ requests: 1, flights: 1 });
    expect(await cost(() => read.release())).toMatchObject({ requests: 1, flights: 1 });
  });

  it("is downgraded in two round trips: the read beside the write, then the release of the write", async () => {
    const write = await locks.readWriteLock(path).write.acquire();
    const { done: read, flights } = await cost(() => write.downgrade());
    expect(flights).toBe(2);
    await read.release();
  });

  it.each(["read", "write"] as const)(
    "that is held is refused to tryAcquire for %s in two round trips",
    async (side) => {
      const holder = await connected(server.connectString);
      await holder.readWriteLock(path).write.acquire();
      const refused = await cost(() => locks.readWriteLock(path)[side].tryAcquire());
      expect(refused).toEqual({ done: null, requests: 3, flights: 2 });
    },
  );
});
