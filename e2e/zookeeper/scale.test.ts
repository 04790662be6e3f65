import type { LockHandle, LockProvider } from "@holdfast/core";
import {
  eventually,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { liveHeapBytes } from "../support/memory.js";
import { connected, operatorSession } from "../support/providers.js";
import { share } from "../support/share.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;

beforeAll(async () => {
  server = await startZooKeeper({ maxClientCnxns: 0 });
  proxy = await startZooKeeperProxy({ target: server.connectString, traceLimit: 1_000 });
});
afterAll(async () => {
  await proxy.close();
  await server.stop();
});

/** Causes the fault and waits until `provider` has lost contact and has it again. */
async function through(provider: LockProvider, fault: () => Promise<unknown>): Promise<void> {
  let suspended = 0;
  using _ = provider.events.on("session-state", ({ state }) => {
    if (state === "suspended") suspended++;
  });
  await fault();
  await eventually(() => suspended > 0, { withinMs: 20_000, what: "the session suspended" });
  await backAgain(provider);
}

/** Does not use `ready()`, which rejects if a server refuses connections for long enough. */
async function backAgain(provider: LockProvider): Promise<void> {
  await eventually(() => provider.state === "connected", { withinMs: 30_000, what: "contact again" });
}

async function allHeld(handles: readonly LockHandle[]): Promise<void> {
  const states = () => new Set(handles.map((handle) => handle.state));
  await eventually(() => states().size === 1 && states().has("held"), {
    withinMs: 60_000,
    what: "every hold confirmed again",
  });
}

describe("many locks", () => {
  it("are held by one provider at once, through a cut and mended link and a restart of the server", async () => {
    const count = share("locks held at once", 3_000, 10_000);
    // All are released at once, and the last release is confirmed after all others.
    const locks = await connected(proxy.connectString, {
      sessionTimeoutMs: 30_000,
      releaseTimeoutMs: 60_000,
    });
    const before = liveHeapBytes();
    const started = performance.now();
    const handles = await Promise.all(
      Array.from({ length: count }, (_, i) => locks.mutex(`order-${String(i).padStart(54, "0")}`).acquire()),
    );
    const tookMs = performance.now() - started;
    // Each hold watches its own node after a quarter of a second.
    await eventually(() => (proxy.counts().byOp.getData ?? 0) >= count, {
      withinMs: 30_000,
      what: "all watches",
    });
    const perHold = Math.round((liveHeapBytes() - before) / count);
    console.log(
      `${count} locks: ${(tookMs / 1_000).toFixed(1)} s to acquire, ${perHold} bytes of heap a hold`,
    );

    await through(locks, async () => proxy.resetAll());
    await allHeld(handles);
    await through(locks, () => server.restart());
    await allHeld(handles);

    // The watches survived both faults: the deletion of any node is noticed.
    const victim = handles[Math.floor(count / 2)] as LockHandle;
    const snapshot = await locks.mutex(victim.name).inspect();
    expect(snapshot.held[0]?.token).toBe(victim.token);
    expect(locks.holds()).toHaveLength(count);
    const operator = await operatorSession(server.connectString);
    await operator.request("delete", { path: snapshot.held[0]?.backendId as string, version: -1 });
    await eventually(() => victim.lost.aborted, { withinMs: 30_000, what: "the loss of the deleted node" });
    expect(victim.lost.reason).toMatchObject({ code: "HF_LOCK_LOST", reason: "stolen" });

    const outcomes = await Promise.all(handles.map((handle) => handle.release()));
    expect(outcomes.filter((outcome) => outcome === "released")).toHaveLength(count - 1);
    const { children } = await operator.request("getChildren2", { path: "/holdfast", watch: false });
    const left = await Promise.all(
      children.map(async (child) => {
        const { stat } = await operator.request("exists", { path: `/holdfast/${child}`, watch: false });
        return stat.numChildren;
      }),
    );
    expect(left.filter((nodes) => nodes > 0)).toEqual([]);
  }, 180_000);
});

describe("many waiters on one lock", () => {
  it("keep their places through a cut and mended link and a restart, and are served in order", async () => {
    const count = share("waiters on one lock", 300, 1_000);
    const locks = await connected(proxy.connectString, { sessionTimeoutMs: 30_000 });
    const operator = await connected(server.connectString, { sessionTimeoutMs: 30_000 });
    const name = "one-lock";
    const first = await locks.mutex(name).acquire();
    proxy.reset();
    const before = liveHeapBytes();
    const order: number[] = [];
    const served: Promise<void>[] = [];
    for (let i = 0; i < count; i++) {
      served.push(
        locks.mutex(name).withLock(async () => {
          order.push(i);
        }),
      );
    }
    const queued = async () => (await operator.mutex(name).inspect({ maxPending: 1 })).pendingTotal === count;
    await eventually(queued, { withinMs: 60_000, what: "all in the queue" });
    // Each waiter watches its own node and the one ahead of it by one request.
    await eventually(() => proxy.counts().byOp.setWatches === count, {
      withinMs: 60_000,
      what: "all watches",
    });
    const perWaiter = Math.round((liveHeapBytes() - before) / count);

    await through(locks, async () => proxy.resetAll());
    await through(locks, () => server.restart());
    await allHeld([first]);
    await backAgain(operator);
    expect(await queued()).toBe(true);

    const started = performance.now();
    await first.release();
    await Promise.all(served);
    const tookMs = performance.now() - started;
    expect(order).toEqual(Array.from({ length: count }, (_, i) => i));
    console.log(
      `${count} waiters: ${perWaiter} bytes of heap each, served in ${(tookMs / 1_000).toFixed(1)} s`,
    );
    expect((await operator.mutex(name).inspect()).pendingTotal).toBe(0);
  }, 180_000);
});
