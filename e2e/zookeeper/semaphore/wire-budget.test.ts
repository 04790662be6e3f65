import { eventually, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connected } from "../../support/providers.js";
import { onServers } from "./servers.js";

const withinMs = 10_000;
let paths = 0;

onServers((title, server) => {
  let proxy: ZooKeeperProxy;
  let locks: ZooKeeperLocks;
  let path: string;

  beforeEach(async () => {
    proxy = await startZooKeeperProxy({ target: server.connectString });
    locks = await connected(proxy.connectString);
    path = `/budget/s${paths++}`;
    // Makes the parents.
    await (await locks.semaphore(path, 50).acquire()).release();
    await quiet();
  });
  afterEach(async () => {
    await locks.close();
    await proxy.close();
  });

  /** Waits until every request is answered, and starts the counts anew. */
  async function quiet(): Promise<void> {
    await eventually(
      () => {
        const of = (kind: string) =>
          proxy.trace.filter((entry) => entry.kind === kind && entry.op !== "ping");
        return of("request").length === of("reply").length;
      },
      { withinMs, what: "answers to all requests" },
    );
    proxy.reset();
  }

  /** `flights`: the round trips until `work` ends. `all`: its requests by operation, with those that follow after its end. */
  async function cost(
    work: () => Promise<unknown>,
  ): Promise<{ flights: number; all: Record<string, number> }> {
    await quiet();
    await work();
    const { flights } = proxy.counts();
    await eventually(
      () => !proxy.trace.some(({ op }) => op === "multi") || proxy.counts().byOp.delete === 1,
      {
        withinMs,
        what: "the queue node to be deleted",
      },
    );
    const { connect: _connect, ping: _ping, sync: _sync, ...all } = proxy.counts().byOp;
    return { flights, all };
  }

  it("under absent parents a permit takes one round trip more", async () => {
    const spent = await cost(() => locks.semaphore(`/budget/fresh${paths++}/a/b`, 1).acquire());
    expect(spent.flights).toBeLessThanOrEqual(4);
    expect(spent.all).toMatchObject({ multi: 1, delete: 1 });
  });

  it("a hand-off takes two round trips from the event to the grant, and wakes one waiter of twenty", async () => {
    const other = await connected(server.connectString);
    const held = await other.semaphore(path, 1).acquire();
    const semaphore = locks.semaphore(path, 1);
    const grants = Array.from({ length: 20 }, () => semaphore.acquire({ waitMs: 30_000 }));
    await eventually(async () => (await semaphore.inspect()).pendingTotal === 20, {
      withinMs,
      what: "all in the queue",
    });
    await eventually(() => proxy.counts().byOp.getChildren2 !== undefined, { withinMs, what: "the watches" });
    await quiet();
    const ends = Promise.allSettled(grants);
    await held.release();
    await grants[0];
    await eventually(() => proxy.counts().byOp.delete === 1, { withinMs, what: "the place to be given up" });
    const until = proxy.trace.findIndex(({ kind, op }) => kind === "request" && op === "delete");
    const asked = proxy.trace
      .slice(0, until)
      .filter(({ kind, op }) => kind === "request" && op !== "ping" && op !== "sync");
    expect(asked.map(({ op }) => op)).toEqual(["getChildren2", "multi", "getChildren2"]);
    await locks.close();
    const granted = (await ends).filter(({ status }) => status === "fulfilled");
    expect(granted).toHaveLength(1);
  });

  it("a drain of fifty waiters costs at most eight requests each", async () => {
    const clients = await Promise.all(Array.from({ length: 5 }, () => connected(proxy.connectString)));
    const limit = 4;
    const holders = await Promise.all(
      Array.from({ length: limit }, () => locks.semaphore(path, limit).acquire()),
    );
    const waiters = 50;
    const done = Array.from({ length: waiters }, async (_, i) => {
      const semaphore = (clients[i % clients.length] as ZooKeeperLocks).semaphore(path, limit);
      await (await semaphore.acquire({ waitMs: 30_000 })).release();
    });
    await eventually(async () => (await locks.semaphore(path, limit).inspect()).pendingTotal === waiters, {
      withinMs,
      what: "all in the queue",
    });
    await quiet();
    for (const holder of holders) await holder.release();
    await Promise.all(done);
    const { requests } = proxy.counts();
    // Closes the clients while the proxy still runs, so that their sessions can be closed.
    await Promise.all(clients.map((client) => client.close()));
    console.log(`${title}: drain of ${waiters}: ${(requests / waiters).toFixed(2)} requests each`);
    expect(requests / waiters).toBeLessThanOrEqual(8);
  });
});
