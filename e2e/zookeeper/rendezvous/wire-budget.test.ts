import {
  eventually,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { connected } from "../../support/providers.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;
let locks: ZooKeeperLocks;
let other: ZooKeeperLocks;
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
  other = await connected(server.connectString);
  // The parents are there.
  await other.atomicLong(`/budget/first${paths}`).set(0n);
  path = `/budget/r${paths++}`;
});

/** Requests and round trips of what `work` does. */
async function cost(work: () => Promise<unknown>): Promise<{ requests: number; flights: number }> {
  proxy.reset();
  await work();
  const { requests, flights } = proxy.counts();
  return { requests, flights };
}

// Curator's figures, counted on its wire, stand in the titles.

it("adds to a number in two round trips, as Curator", async () => {
  const long = locks.atomicLong(path);
  await long.set(1n);
  expect(await cost(() => long.add(1n))).toEqual({ requests: 2, flights: 2 });
  expect(await cost(() => long.get())).toEqual({ requests: 1, flights: 1 });
  expect(await cost(() => long.set(9n))).toEqual({ requests: 1, flights: 1 });
});

it("begins with a shared count in two round trips at most, as Curator, and sets it in one", async () => {
  expect((await cost(() => locks.sharedCount(path, 1).get())).flights).toBeLessThanOrEqual(2);
  expect(await cost(() => locks.sharedCount(path, 1).get())).toEqual({ requests: 1, flights: 1 });
  expect(await cost(() => locks.sharedCount(path, 1).set(2))).toEqual({ requests: 1, flights: 1 });
  const seen = await locks.sharedCount(path, 1).get();
  expect(await cost(() => locks.sharedCount(path, 1).trySet(seen, 3))).toEqual({ requests: 2, flights: 2 });
  expect(await cost(() => locks.sharedCount(path, 1).trySet(seen, 3))).toEqual({ requests: 1, flights: 1 });
});

it("shuts and opens a barrier in one round trip each, and waits in one before the event and one after, as Curator", async () => {
  const barrier = locks.barrier(path);
  expect(await cost(() => barrier.shut())).toEqual({ requests: 1, flights: 1 });
  proxy.reset();
  const waiting = barrier.wait();
  await proxy.waitFor((entry) => entry.kind === "reply" && entry.op === "getData");
  expect(proxy.counts().flights).toBe(1);
  await other.barrier(path).open();
  await waiting;
  expect(proxy.counts()).toMatchObject({ requests: 2, flights: 2 });
  await other.barrier(path).shut();
  expect(await cost(() => barrier.open())).toEqual({ requests: 1, flights: 1 });
});

it("enters a double barrier as the last in two round trips, where Curator takes four", async () => {
  await other.barrier(path).shut(); // the path is there
  const waiting = other.doubleBarrier(path, 2).enter();
  let inside: Awaited<typeof waiting> | undefined;
  await eventually(async () => (await other.groupMembership(path).members()).length === 1, {
    what: "the first member",
  });
  const { flights, requests } = await cost(async () => {
    inside = await locks.doubleBarrier(path, 2).enter();
  });
  console.log(`enter (last): ${requests} requests, ${flights} round trips`);
  // The watch on `ready` is used up by making it.
  expect({ flights, requests }).toEqual({ flights: 2, requests: 4 });
  const first = await waiting;
  proxy.reset();
  const leaving = inside?.leave();
  await Promise.all([leaving, first.leave()]);
  const left = proxy.counts();
  console.log(`leave: ${left.requests} requests, ${left.flights} round trips`);
  // First by name or not is a matter of chance. Curator takes five either way.
  expect(left.flights).toBeLessThanOrEqual(4);
});

it("leaves a double barrier as the only member in two round trips, where Curator takes three", async () => {
  const inside = await locks.doubleBarrier(path, 1).enter();
  expect(await cost(() => inside.leave())).toEqual({ requests: 3, flights: 2 });
});

it("joins and leaves a group in one round trip each", async () => {
  await other.groupMembership(path).join("other");
  let member: AsyncDisposable | undefined;
  proxy.reset();
  member = await locks.groupMembership(path).join("m");
  await proxy.waitFor((entry) => entry.kind === "reply" && entry.op === "getData");
  // The watch on the own node is off the critical path.
  expect(proxy.counts().byOp).toMatchObject({ create2: 1, getData: 1 });
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
