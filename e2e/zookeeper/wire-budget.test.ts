import type { LockHandle, LockProvider } from "@holdfast/core";
import {
  eventually,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { connected } from "../support/providers.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;
let locks: LockProvider;
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
  locks = await connected(proxy.connectString);
  path = `/budget/l${paths++}`;
  // The parents are there from now on: a container that has had a child stays for longer than a test.
  await (await locks.mutex(path).acquire()).release();
  proxy.reset();
});

/** Requests and round trips of what `work` does. */
async function cost(work: () => Promise<unknown>): Promise<{ requests: number; flights: number }> {
  proxy.reset();
  await work();
  const { requests, flights } = proxy.counts();
  return { requests, flights };
}

describe("a free lock", () => {
  it("is acquired in one round trip and released in one, three requests in all", async () => {
    let handle: LockHandle | undefined;
    expect(
      await cost(async () => {
        handle = await locks.mutex(path).acquire();
      }),
    ).toEqual({ requests: 2, flights: 1 });
    expect(await cost(async () => handle?.release())).toEqual({ requests: 1, flights: 1 });
  });

  it("under three absent parents is acquired in two round trips", async () => {
    const { flights } = await cost(() => locks.mutex(`/budget/a${paths}/b/c`).acquire());
    expect(flights).toBe(2);
  });

  it("costs one more read once it has been held for a quarter of a second, off the critical path", async () => {
    await locks.mutex(path).acquire();
    await proxy.waitFor((entry) => entry.kind === "request" && entry.op === "getData");
    expect(proxy.counts().requests).toBe(3);
  });

  it("is watched at once when somebody reads `lost`", async () => {
    const handle = await locks.mutex(path).acquire();
    const before = performance.now();
    expect(handle.lost.aborted).toBe(false);
    const watch = await proxy.waitFor((entry) => entry.kind === "request" && entry.op === "getData");
    expect(watch.at - before).toBeLessThan(200);
  });
});

describe("a held lock", () => {
  beforeEach(async () => {
    const holder = await connected(server.connectString);
    await holder.mutex(path).acquire();
  });

  it("is refused to tryAcquire in two round trips", async () => {
    const { requests, flights } = await cost(async () => {
      expect(await locks.mutex(path).tryAcquire()).toBeNull();
    });
    expect({ requests, flights }).toEqual({ requests: 3, flights: 2 });
  });

  it("is queued for in two round trips: the listing, then the watches in one write", async () => {
    proxy.reset();
    const waiting = locks.mutex(path).acquire({ waitMs: 5_000 });
    const refused = expect(waiting).rejects.toThrow();
    await proxy.waitFor(
      (entry) => entry.kind === "reply" && entry.op === "getData" && !entry.path?.includes("x"),
    );
    await eventually(() => proxy.counts().byOp.getData === 2, { withinMs: 2_000, what: "both watches" });
    const { requests, flights } = proxy.counts();
    expect({ requests, flights }).toEqual({ requests: 4, flights: 2 });
    await locks.close();
    await refused;
  });
});

describe("a hand-off", () => {
  it("needs no request between the event and the grant for a waiter that stands second", async () => {
    const holder = await connected(server.connectString);
    const held = await holder.mutex(path).acquire();
    const granted = locks.mutex(path).acquire();
    await eventually(() => proxy.counts().byOp.getData === 2, { withinMs: 2_000, what: "both watches" });
    await proxy.waitFor((entry) => entry.kind === "reply" && entry.op === "getData" && entry.xid > 0);
    await eventually(async () => (await locks.mutex(path).inspect()).pendingTotal === 1, {
      withinMs: 2_000,
      what: "the waiter in the queue",
    });
    proxy.reset();
    await held.release();
    await granted;
    expect(proxy.counts().requests).toBe(0);
  });

  it("costs at most 2.0 requests when 200 waiters of ten processes drain", async () => {
    const waiters = 200;
    const providers = await Promise.all(Array.from({ length: 10 }, () => connected(proxy.connectString)));
    const first = await locks.mutex(path).acquire();
    const order: bigint[] = [];
    const done: Promise<void>[] = [];
    for (let i = 0; i < waiters; i++) {
      const mutex = (providers[i % providers.length] as LockProvider).mutex(path);
      done.push(
        mutex.acquire().then(async (handle) => {
          order.push(handle.token as bigint);
          await handle.release();
        }),
      );
    }
    await eventually(async () => (await locks.mutex(path).inspect()).pendingTotal === waiters, {
      withinMs: 10_000,
      what: "all waiters in the queue",
    });
    await eventually(() => (proxy.counts().byOp.getData ?? 0) >= 3 * waiters - 1, {
      withinMs: 10_000,
      what: "all watches",
    });
    proxy.reset();
    await first.release();
    await Promise.all(done);
    const { requests } = proxy.counts();
    console.log(`drain of ${waiters}: ${requests} requests, ${(requests / (waiters + 1)).toFixed(2)} each`);
    expect(order).toHaveLength(waiters);
    expect([...order].sort((a, b) => (a < b ? -1 : 1))).toEqual(order);
    expect(requests / (waiters + 1)).toBeLessThanOrEqual(2);
  });
});
