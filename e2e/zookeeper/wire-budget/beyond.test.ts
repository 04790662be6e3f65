import type { LockProvider } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { beforeEach, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";
import { locks, other, path, proxy, setTheStage } from "./stage.js";

// Operations that have no row in `table.test.ts`, because Curator has nothing like them.

setTheStage("/budget");

/** The requests and round trips that `work` takes. */
async function cost(work: () => Promise<unknown>): Promise<{ requests: number; flights: number }> {
  proxy.reset();
  await work();
  const { requests, flights } = proxy.counts();
  return { requests, flights };
}

/** The number of queue nodes whose next node ahead was made over another connection. */
function behindOthers(): number {
  const nodes = proxy.trace.filter(({ created }) => created?.startsWith(`${path}/`));
  nodes.sort((a, b) => Number(a.created?.slice(-10)) - Number(b.created?.slice(-10)));
  return nodes.filter(({ connection }, i) => i > 0 && nodes[i - 1]?.connection !== connection).length;
}

describe("a mutex", () => {
  beforeEach(async () => {
    await (await other.mutex(path).acquire()).release();
  });

  it("that is free costs one more read once it has been held for a quarter of a second, off the critical path", async () => {
    await locks.mutex(path).acquire();
    await proxy.waitFor((entry) => entry.kind === "request" && entry.op === "getData");
    expect(proxy.counts().requests).toBe(3);
  });

  it("that is held is watched at once when its holder reads `lost`", async () => {
    const handle = await locks.mutex(path).acquire();
    const before = performance.now();
    expect(handle.lost.aborted).toBe(false);
    const watch = await proxy.waitFor((entry) => entry.kind === "request" && entry.op === "getData");
    expect(watch.at - before).toBeLessThan(2_000);
  });

  it("costs at most 5 requests a grant where eight clients take it in turn: two that write and three that read", async () => {
    const providers = await Promise.all(Array.from({ length: 8 }, () => connected(proxy.connectString)));
    const rounds = 10;
    // After a second a waiter reads the node ahead of it. Only a machine that stands still makes a wait here so long.
    let readsAhead = 0;
    for (const { events } of providers) {
      events.on("acquire-settled", ({ waitedMs }) => {
        readsAhead += Math.floor(waitedMs / 1_000);
      });
    }
    proxy.reset();
    await Promise.all(
      providers.map(async (provider) => {
        for (let i = 0; i < rounds; i++) await (await provider.mutex(path).acquire()).release();
      }),
    );
    const grants = providers.length * rounds;
    const { requests, byOp } = proxy.counts();
    console.log(`${grants} grants in turn: ${(requests / grants).toFixed(2)} requests each`);
    expect(byOp).toMatchObject({ create2: grants, delete: grants });
    expect((requests - readsAhead) / grants, JSON.stringify(byOp)).toBeLessThanOrEqual(5);
  });

  it("costs at most 2.0 requests for each of 200 waiters of ten clients that drain", async () => {
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
    await eventually(async () => (await other.mutex(path).inspect()).pendingTotal === waiters, {
      withinMs: 10_000,
      what: "all waiters in the queue",
    });
    // Each waiter has watched its own node and the two ahead of it by one request. After a second or two it reads the node
    // ahead, unless its own session made that node. The holder reads its own node.
    await eventually(() => proxy.counts().byOp.getData === behindOthers() + 1, {
      withinMs: 10_000,
      what: "the reads of the nodes ahead",
    });
    expect(proxy.counts().byOp.setWatches).toBe(waiters);
    proxy.reset();
    await first.release();
    await Promise.all(done);
    const { requests } = proxy.counts();
    console.log(`drain of ${waiters}: ${requests} requests, ${(requests / (waiters + 1)).toFixed(2)} each`);
    expect(order).toHaveLength(waiters);
    expect([...order].sort((a, b) => (a < b ? -1 : 1))).toEqual(order);
    expect(requests / (waiters + 1)).toBeLessThanOrEqual(2);
  });

  it("costs one request for each of 50 waiters of one client that drain, whose turns that client knows", async () => {
    const waiters = 50;
    const first = await other.mutex(path).acquire();
    const done = Array.from({ length: waiters }, () => locks.mutex(path).withLock(async () => {}));
    // Until its watches are answered a waiter may find that the node ahead has gone before the server watched it, and lists.
    const watched = () => proxy.trace.filter(({ kind, op }) => kind === "reply" && op === "setWatches");
    await proxy.waitFor(() => watched().length === waiters);
    proxy.reset();
    await first.release();
    await Promise.all(done);
    const { byOp } = proxy.counts();
    expect(byOp).toMatchObject({ delete: waiters });
    expect(byOp.getChildren2).toBeUndefined();
  });
});

it("joins and leaves a group in one round trip each", async () => {
  await other.groupMembership(path).join("other");
  let member: AsyncDisposable | undefined;
  proxy.reset();
  member = await locks.groupMembership(path).join("m");
  await proxy.waitFor((entry) => entry.kind === "reply" && entry.op === "getData");
  // The watch on the member's own node is off the critical path.
  expect(proxy.counts().byOp).toMatchObject({ create2: 1, getData: 1 });
  // Behind the answer to the watch. A member that leaves before that has to look at its node first.
  await locks.groupMembership(path).members();
  expect(await cost(async () => member?.[Symbol.asyncDispose]())).toEqual({ requests: 1, flights: 1 });
  expect((await cost(() => locks.groupMembership(path).members())).flights).toBe(2);
});

it("counts a latch down in two round trips, and waits for it in one before the event and one after", async () => {
  const latch = locks.countDownLatch(path);
  await latch.trySetCount(2);
  expect(await cost(() => latch.countDown())).toEqual({ requests: 2, flights: 2 });
  proxy.reset();
  const waiting = latch.wait();
  await proxy.waitFor((entry) => entry.kind === "reply" && entry.op === "getData");
  await other.countDownLatch(path).countDown();
  await waiting;
  const { byOp } = proxy.counts();
  expect(byOp.getData).toBe(2);
});

it("leaves a double barrier beside another member in four round trips at most", async () => {
  await (await other.mutex(path).acquire()).release();
  const [inside, beside] = await Promise.all([
    locks.doubleBarrier(path, 2).enter(),
    other.doubleBarrier(path, 2).enter(),
  ]);
  // Which member is first by name, and so leaves last, is a matter of chance.
  const { flights } = await cost(() => Promise.all([inside.leave(), beside.leave()]));
  expect(flights).toBeLessThanOrEqual(4);
});

it("reads a shared count in one round trip, and sees in one that it is too late to set it", async () => {
  const count = locks.sharedCount(path, 1);
  const seen = await count.get();
  expect(await cost(() => count.get())).toEqual({ requests: 1, flights: 1 });
  await other.sharedCount(path, 1).set(2);
  expect(await cost(() => count.trySet(seen, 3))).toEqual({ requests: 1, flights: 1 });
});

it("reads and sets an atomic long in one round trip each", async () => {
  const long = locks.atomicLong(path);
  await long.set(1n);
  expect(await cost(() => long.get())).toEqual({ requests: 1, flights: 1 });
  expect(await cost(() => long.set(9n))).toEqual({ requests: 1, flights: 1 });
});
