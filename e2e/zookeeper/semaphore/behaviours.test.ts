import { AcquireTimeoutError, EvictedError, type PermitHandle, type Semaphore } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import type { ZooKeeperError } from "@holdfast/zk-protocol";
import { expect, it } from "vitest";
import { connected, operatorSession } from "../../support/providers.js";
import { onServers } from "./servers.js";

let paths = 0;
const withinMs = 15_000;
/**
 * A wait that runs out. It is longer than a busy machine stands still: a wait that ends without an answer of the server is
 * an outage, and not a time-out.
 */
const runsOutMs = 2_000;

/** Random numbers from 0 to 1 that depend on the seed alone, so that a failed run can be repeated. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Counts the permits that all clients of a test use at one time. */
class Tally {
  inside = 0;
  most = 0;
  served = 0;

  /** `most`: the permit is kept until so many were in use at one time, so that a slow machine reaches the peak too. */
  async use(permit: PermitHandle, { forMs = 0, most = 0 }): Promise<void> {
    this.inside += permit.permits;
    this.most = Math.max(this.most, this.inside);
    await new Promise((resolve) => setTimeout(resolve, forMs));
    await eventually(() => this.most >= most, { what: `${most} at a time`, withinMs });
    permit.assertHeld();
    this.inside -= permit.permits;
    this.served += 1;
    await permit.release();
  }
}

async function queued(semaphore: Semaphore, waiters: number): Promise<void> {
  await eventually(async () => (await semaphore.inspect()).pendingTotal === waiters, {
    withinMs,
    what: `${waiters} in the queue`,
  });
}

onServers((_title, server) => {
  const fresh = (): string => `/behaviours/s${paths++}`;
  const client = () => connected(server.connectString);

  /** The names of the nodes of the queue and of the leases. */
  async function tree(path: string): Promise<{ queue: string[]; leases: string[] }> {
    const operator = await operatorSession(server.connectString);
    const children = async (at: string) =>
      (await operator.request("getChildren2", { path: at, watch: false })).children;
    return { queue: await children(`${path}/locks`), leases: await children(`${path}/leases`) };
  }

  it("27: acquires go on after the server was lost in the middle of them", async () => {
    const path = fresh();
    const tally = new Tally();
    // On a busy machine a server takes up to 30 s to start. Sessions and releases outlast that.
    const lasting = { sessionTimeoutMs: 40_000, releaseTimeoutMs: 40_000, connectTimeoutMs: 40_000 };
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => connected(server.connectString, lasting)),
    );
    const asked = clients.map(async (locks) => {
      for (let round = 0; round < 3; round++) {
        await tally.use(await locks.semaphore(path, 3).acquire({ waitMs: 60_000 }), { forMs: 20 });
      }
    });
    await eventually(() => tally.served >= 3, { withinMs, what: "the first to be served" });
    await server.restart();
    await Promise.all(asked);
    expect(tally).toMatchObject({ served: 30, inside: 0 });
    expect(tally.most).toBeLessThanOrEqual(3);
    // A grant does not wait for the delete of its place in the queue.
    await expect.poll(() => tree(path)).toEqual({ queue: [], leases: [] });
  });

  it("28: a raise of the shared count lets a waiter in at once", async () => {
    const path = fresh();
    const [owner, waiter] = await Promise.all([client(), client()]);
    const count = owner.sharedCount(`${path}-count`, 1);
    await count.get();
    await owner.semaphore(path, count).acquire();
    const waiting = waiter.semaphore(path, count).acquire({ waitMs: withinMs });
    await queued(owner.semaphore(path, count), 1);
    const raised = performance.now();
    await count.set(2);
    expect((await waiting).permits).toBe(1);
    expect(performance.now() - raised).toBeLessThan(9_000);
    expect(await owner.semaphore(path, count).limit()).toBe(2);
  });

  it("28: a cut of the shared count takes nothing from a holder, and holds for the next", async () => {
    const path = fresh();
    const locks = await client();
    const count = locks.sharedCount(`${path}-count`, 3);
    await count.get();
    const semaphore = locks.semaphore(path, count);
    const first = await semaphore.acquire();
    const second = await semaphore.acquire();
    await count.set(1);
    expect(await semaphore.tryAcquire()).toBeNull();
    await first.confirm();
    await second.confirm();
    await first.release();
    expect(await semaphore.tryAcquire()).toBeNull();
    await second.release();
    expect(await semaphore.tryAcquire()).not.toBeNull();
  });

  it("29: a client that closes gives its permits to those who wait", async () => {
    const path = fresh();
    const [one, other] = await Promise.all([client(), client()]);
    await one.semaphore(path, 3).acquire({ permits: 2 });
    await one.semaphore(path, 3).acquire();
    const waiting = other.semaphore(path, 3).acquire({ permits: 3, waitMs: withinMs });
    await queued(other.semaphore(path, 3), 1);
    await one.close();
    expect((await waiting).permitIds).toHaveLength(3);
    expect((await tree(path)).leases).toHaveLength(3);
    // A grant does not wait for the delete of its place in the queue.
    await eventually(async () => (await tree(path)).queue.length === 0, { withinMs, what: "no place" });
  });

  it.each([11, 47])("30: batches of chance sizes never exceed the limit (seed %i)", async (seed) => {
    const path = fresh();
    const limit = 7;
    const random = seeded(seed);
    const tally = new Tally();
    const clients = await Promise.all(Array.from({ length: 4 }, client));
    const operator = await operatorSession(server.connectString);
    let looking = true;
    let most = 0;
    const looks = (async () => {
      while (looking) {
        const { children } = await operator
          .request("getChildren2", { path: `${path}/leases`, watch: false })
          .catch((error: unknown) => {
            // The node does not exist before the first client has asked.
            if ((error as ZooKeeperError).codeName !== "NoNode") throw error;
            return { children: [] as string[] };
          });
        most = Math.max(most, children.length);
      }
    })();
    await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const semaphore = clients[i % clients.length]?.semaphore(path, limit) as Semaphore;
        for (let round = 0; round < 6; round++) {
          const permits = 1 + Math.floor(random() * limit);
          await tally.use(await semaphore.acquire({ permits, waitMs: 30_000 }), { forMs: random() * 5 });
        }
      }),
    );
    looking = false;
    await looks;
    expect(tally).toMatchObject({ served: 72, inside: 0 });
    expect(tally.most).toBeLessThanOrEqual(limit);
    // No client makes a lease node before there is room for it.
    expect(most).toBeLessThanOrEqual(limit);
    expect(most).toBeGreaterThan(0);
  });

  it("31: all permits are in use at the peak, and every caller is served", async () => {
    const path = fresh();
    const tally = new Tally();
    const clients = await Promise.all(Array.from({ length: 5 }, client));
    const [first] = clients;
    const gate = Array.from({ length: 4 }, () => first?.semaphore(path, 4).acquire());
    const held = await Promise.all(gate);
    const asked = Array.from({ length: 20 }, async (_, i) => {
      const semaphore = clients[i % clients.length]?.semaphore(path, 4) as Semaphore;
      await tally.use(await semaphore.acquire({ waitMs: 30_000 }), { most: 4 });
    });
    await queued(first?.semaphore(path, 4) as Semaphore, 20);
    for (const permit of held) await permit?.release();
    await Promise.all(asked);
    expect(tally).toMatchObject({ most: 4, served: 20, inside: 0 });
  });

  it("32: permits come back in chunks of chance sizes and are all had again", async () => {
    const path = fresh();
    const seed = 5;
    const random = seeded(seed);
    const locks = await client();
    const semaphore = locks.semaphore(path, 11);
    const tally = new Tally();
    const asked = Array.from({ length: 100 }, async () => {
      const permits = 1 + Math.floor(random() * 4);
      await tally.use(await semaphore.acquire({ permits, waitMs: 40_000 }), { forMs: random() * 3 });
    });
    await Promise.all(asked);
    expect({ seed, ...tally }).toMatchObject({ served: 100, inside: 0 });
    expect(tally.most).toBeLessThanOrEqual(11);
    expect((await semaphore.acquire({ permits: 11, waitMs: withinMs })).permits).toBe(11);
  });

  it("33: many callers of one semaphore object share its permits", async () => {
    const semaphore = (await client()).semaphore(fresh(), 3);
    const tally = new Tally();
    await Promise.all(
      Array.from({ length: 30 }, () =>
        semaphore.withPermit({ waitMs: 30_000 }, (permit) => tally.use(permit, { most: 3 })),
      ),
    );
    expect(tally).toMatchObject({ most: 3, served: 30, inside: 0 });
  });

  it("34: with one permit the second caller hears in time that none is free", async () => {
    const semaphore = (await client()).semaphore(fresh(), 1);
    await semaphore.acquire();
    expect(await semaphore.tryAcquire({ waitMs: runsOutMs })).toBeNull();
    await expect(semaphore.acquire({ waitMs: runsOutMs })).rejects.toThrow(AcquireTimeoutError);
  });

  it("35: after a time-out with all permits taken, one that comes back can be had", async () => {
    const path = fresh();
    const semaphore = (await client()).semaphore(path, 3);
    const held = [await semaphore.acquire(), await semaphore.acquire(), await semaphore.acquire()];
    expect(await semaphore.tryAcquire({ waitMs: runsOutMs })).toBeNull();
    // The call ends before its place in the queue is deleted.
    await expect.poll(() => tree(path)).toMatchObject({ queue: [], leases: { length: 3 } });
    await held[1]?.release();
    expect(await semaphore.tryAcquire()).not.toBeNull();
  });

  it("36: there are as many participants as permits", async () => {
    const path = fresh();
    const semaphore = (await client()).semaphore(path, 6);
    for (const permits of [1, 2, 3]) await semaphore.acquire({ permits });
    const { held, available, limit } = await semaphore.inspect();
    expect({ held: held.length, available, limit }).toEqual({ held: 6, available: 0, limit: 6 });
    expect((await tree(path)).leases).toHaveLength(6);
  });

  it("37: a waiter whose node is deleted from outside is evicted, and leaves nothing", async () => {
    const path = fresh();
    const [holder, waiter] = await Promise.all([client(), client()]);
    const held = await holder.semaphore(path, 1).acquire();
    const waiting = waiter.semaphore(path, 1).acquire({ waitMs: withinMs });
    const evicted = expect(waiting).rejects.toThrow(EvictedError);
    await queued(holder.semaphore(path, 1), 1);
    const operator = await operatorSession(server.connectString);
    const { queue } = await tree(path);
    await operator.request("delete", { path: `${path}/locks/${queue[0]}`, version: -1 });
    await evicted;
    expect(await tree(path)).toMatchObject({ queue: [], leases: { length: 1 } });
    await held.release();
    expect(await waiter.semaphore(path, 1).tryAcquire()).not.toBeNull();
  });

  it("38: a waiter that gives up leaves no lease and no place", async () => {
    const path = fresh();
    const [holder, waiter] = await Promise.all([client(), client()]);
    await holder.semaphore(path, 2).acquire({ permits: 2 });
    const controllers = [new AbortController(), new AbortController()];
    const waits = controllers.map(({ signal }) =>
      waiter.semaphore(path, 2).acquire({ signal, waitMs: withinMs }),
    );
    const refused = waits.map((wait) => expect(wait).rejects.toThrow("enough"));
    await queued(holder.semaphore(path, 2), 2);
    for (const controller of controllers) controller.abort(new Error("enough"));
    await Promise.all(refused);
    // The calls end before their places in the queue are deleted.
    await expect.poll(() => tree(path)).toMatchObject({ queue: [], leases: { length: 2 } });
  });
});
