import { LockLostError, type PermitHandle } from "@holdfast/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type CuratorClient,
  type CuratorSemaphore,
  curatorVersionsInShare,
} from "../support/curator/java-peer.js";
import { share } from "../support/share.js";
import { ContentionLog } from "./contention-log.js";
import { InteropFixture, watched } from "./fixture.js";
import { behind } from "./gate.js";
import { contendBy, contendSemaphore } from "./our-contenders.js";
import { presenceFolder } from "./presence.js";
import { nameOf, shape } from "./shape.js";

const waitMs = 30_000;

describe.each(await curatorVersionsInShare())("permits shared with Curator %s", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    client = await fixture.curator();
  });

  afterAll(() => fixture?.close());

  /** Waits until `count` nodes stand in the queue in front of the permits. */
  async function untilQueued(path: string, count: number): Promise<void> {
    await expect
      .poll(async () => (await client.dump(`${path}/locks`)).length - 1, { timeout: 10_000 })
      .toBe(count);
  }

  const names = ({ permitIds }: PermitHandle): string[] =>
    permitIds.map((id) => id.slice(id.lastIndexOf("/") + 1));

  async function releaseAll(theirs: CuratorSemaphore, leases: readonly (string | null)[]): Promise<void> {
    await theirs.release(...leases.map((lease) => lease ?? ""));
  }

  it("are counted together, each as one lease node", async () => {
    const path = "/semaphore/together";
    const theirs = await client.semaphore(path, 4);
    const ours = (await fixture.ours()).semaphore(path, 4);
    const lease = await theirs.acquire();
    const permits = await ours.acquire({ permits: 2, waitMs });
    expect(permits.permits).toBe(2);
    expect(new Set(await theirs.leases())).toEqual(new Set([lease, ...names(permits)]));
    expect(await ours.tryAcquire({ permits: 2 })).toBeNull();
    expect(await theirs.acquireSeveral(2, { waitMs: 100 })).toBeNull();
    const last = await theirs.acquire({ waitMs: 5_000 });
    expect(last).not.toBeNull();
    expect(await ours.tryAcquire()).toBeNull();
    expect(await theirs.acquire({ waitMs: 50 })).toBeNull();
    const snapshot = await ours.inspect();
    expect([snapshot.limit, snapshot.available, snapshot.held.length]).toEqual([4, 0, 4]);
    expect(await permits.release()).toBe("released");
    expect(new Set(await theirs.leases())).toEqual(new Set([lease, last]));
    await releaseAll(theirs, [lease, last]);
  });

  it("pass from Curator to ours, and from ours to Curator", async () => {
    const path = "/semaphore/hand-over";
    const theirs = await client.semaphore(path, 1);
    const other = await (await fixture.curator()).semaphore(path, 1);
    const ours = (await fixture.ours()).semaphore(path, 1);
    const lease = await theirs.acquire();
    const waiting = watched(ours.acquire({ waitMs }));
    await untilQueued(path, 1);
    const theirWait = watched(other.acquire());
    await untilQueued(path, 2);
    expect(waiting.granted).toBe(false);
    await releaseAll(theirs, [lease]);
    const permit = await waiting.grant;
    expect(theirWait.granted).toBe(false);
    await untilQueued(path, 1);
    // Curator's first waiter already has a lease node, but no permit.
    await expect.poll(() => theirs.leases()).toHaveLength(2);
    expect(theirWait.granted).toBe(false);
    expect((await ours.inspect()).held).toHaveLength(1);
    await permit.release();
    const taken = await theirWait.grant;
    expect(await theirs.leases()).toEqual([taken]);
    expect(await ours.tryAcquire()).toBeNull();
    await releaseAll(other, [taken]);
    expect(await theirs.leases()).toEqual([]);
  });

  it("are granted in order of arrival, also when one at the front wants several", async () => {
    const path = "/semaphore/order";
    const holder = await client.semaphore(path, 2);
    const held = await holder.acquireSeveral(2);
    const order: string[] = [];
    const several = (await fixture.ours()).semaphore(path, 2).acquire({ permits: 2, waitMs });
    await untilQueued(path, 1);
    const single = (await (await fixture.curator()).semaphore(path, 2)).acquire().then((lease) => {
      order.push("their one");
      return lease;
    });
    await untilQueued(path, 2);
    await releaseAll(holder, [held?.[0] ?? null]);
    // One permit is free, but the first in the queue wants two.
    await untilQueued(path, 2);
    expect(await holder.leases()).toEqual([held?.[1]]);
    expect(order).toEqual([]);
    await releaseAll(holder, [held?.[1] ?? null]);
    const permits = await several;
    order.push("our two");
    expect(order).toEqual(["our two"]);
    await permits.release();
    expect(await single).not.toBeNull();
  });

  it("a limit kept by a shared count: a raise by either side lets waiters of both in at once", async () => {
    const path = "/semaphore/counted";
    const countPath = "/semaphore/counted-limit";
    const count = await client.sharedCount(countPath, 1);
    await count.start();
    const locks = await fixture.ours();
    const ourCount = locks.sharedCount(countPath, 9);
    const theirs = await client.semaphore(path, count);
    const ours = locks.semaphore(path, ourCount);
    expect(await ours.limit()).toBe(1);
    const lease = await theirs.acquire();
    const waiting = watched(ours.acquire({ waitMs }));
    await untilQueued(path, 1);
    await ours.inspect();
    expect(waiting.granted).toBe(false);
    await count.set(2);
    const permit = await waiting.grant;

    const theirWait = watched(theirs.acquire());
    await untilQueued(path, 1);
    expect(theirWait.granted).toBe(false);
    await ourCount.set(3);
    const second = await theirWait.grant;
    expect(await ours.limit()).toBe(3);
    expect(await ours.tryAcquire()).toBeNull();
    await permit.release();
    await releaseAll(theirs, [lease, second]);
    await count.close();
  });

  it("are freed by the end of the holder's session, Curator's and ours", async () => {
    const path = "/semaphore/expires";
    const victim = await fixture.curator();
    expect(await (await victim.semaphore(path, 2)).acquireSeveral(2)).toHaveLength(2);
    const mortal = await fixture.oursOverClient(8_000);
    const waiting = watched(mortal.locks.semaphore(path, 2).acquire({ permits: 2, waitMs }));
    await untilQueued(path, 1);
    expect(waiting.granted).toBe(false);
    await fixture.expire(await victim.session());
    const permits = await waiting.grant;
    permits.assertHeld();
    const { lost } = permits;
    const theirs = await client.semaphore(path, 2);
    const theirWait = watched(theirs.acquireSeveral(2));
    await untilQueued(path, 1);
    expect(theirWait.granted).toBe(false);
    await fixture.expire(mortal.session());
    const leases = await theirWait.grant;
    expect(leases).toHaveLength(2);
    await expect.poll(() => lost.aborted, { timeout: 10_000, interval: 5 }).toBe(true);
    expect(lost.reason).toBeInstanceOf(LockLostError);
    await releaseAll(theirs, leases ?? []);
  });

  it("ours that gives up leaves nothing that Curator would count", async () => {
    const path = "/semaphore/gives-up";
    const theirs = await client.semaphore(path, 1);
    const lease = await theirs.acquire();
    const ours = (await fixture.ours()).semaphore(path, 1);
    await expect(ours.acquire({ waitMs: 500 })).rejects.toMatchObject({ code: "HF_ACQUIRE_TIMEOUT" });
    await untilQueued(path, 0);
    expect(await theirs.leases()).toEqual([lease]);
    await releaseAll(theirs, [lease]);
  });

  /** Both trees, sorted by name, because their lasting nodes may have been made in another order. */
  async function trees(kind: string): Promise<{ theirs: string[]; ours: string[] }> {
    const [theirPath, ourPath] = [`/${kind}-curator/tree`, `/${kind}-ours/tree`];
    const theirs = shape(await client.dump(theirPath), theirPath).sort();
    return { theirs, ours: shape(await client.dump(ourPath), ourPath).sort() };
  }

  it("make the same tree with two held by one, and with others waiting but for the lease that Curator's first waiter has", async () => {
    const [theirPath, ourPath] = ["/semaphore-curator/tree", "/semaphore-ours/tree"];
    const [a, b, c] = await Promise.all([0, 1, 2].map(() => fixture.curator()));
    const theirs = await Promise.all(
      [a, b, c].map((each) => (each as CuratorClient).semaphore(theirPath, 2)),
    );
    const ours = await Promise.all([0, 1, 2].map(async () => (await fixture.ours()).semaphore(ourPath, 2)));
    const leases = await theirs[0]?.acquireSeveral(2);
    const permits = await ours[0]?.acquire({ permits: 2, waitMs });
    await untilQueued(theirPath, 0);
    await untilQueued(ourPath, 0);
    const held = await trees("semaphore");
    expect(held.ours).toEqual(held.theirs);
    expect(held.ours).toEqual([
      " lasting - 31:world:anyone",
      "/leases lasting - 31:world:anyone",
      "/leases/_c_<uuid>-lease-<10 digits> ephemeral session 1 31:world:anyone",
      "/leases/_c_<uuid>-lease-<10 digits> ephemeral session 1 31:world:anyone",
      "/locks lasting - 31:world:anyone",
    ]);

    const theirWaits: Promise<string | null>[] = [];
    const ourWaits: Promise<PermitHandle>[] = [];
    for (const at of [1, 2]) {
      theirWaits.push((theirs[at] as CuratorSemaphore).acquire());
      ourWaits.push((ours[at] as (typeof ours)[number]).acquire({ waitMs }));
      await untilQueued(theirPath, at);
      await untilQueued(ourPath, at);
    }
    await expect.poll(() => theirs[0]?.leases()).toHaveLength(3);
    const waiting = await trees("semaphore");
    const early = "/leases/_c_<uuid>-lease-<10 digits> ephemeral session 2 31:world:anyone";
    expect(waiting.theirs).toContain(early);
    expect(waiting.ours).toEqual(waiting.theirs.filter((line) => line !== early));
    expect(waiting.ours.filter((line) => line.startsWith("/locks/"))).toEqual([
      "/locks/_c_<uuid>-lock-<10 digits> ephemeral session 2 31:world:anyone",
      "/locks/_c_<uuid>-lock-<10 digits> ephemeral session 3 31:world:anyone",
    ]);
    await permits?.release();
    for (const each of ourWaits) await (await each).release();
    await releaseAll(theirs[0] as CuratorSemaphore, leases ?? []);
    for (const [at, each] of theirWaits.entries()) {
      await releaseAll(theirs[at + 1] as CuratorSemaphore, [await each]);
    }
  });

  it("as a mutex: ours and Curator's semaphore mutex exclude each other, and their trees are the same", async () => {
    const path = "/semaphore-mutex/turns";
    const theirs = await client.semaphoreMutex(path);
    const locks = await fixture.ours();
    const mutex = locks.semaphoreMutex(path);
    const lock = await mutex.acquire({ waitMs });
    expect(await theirs.acquire({ waitMs: 50 })).toBe(false);
    const theirWait = watched(theirs.acquire());
    await untilQueued(path, 1);
    expect(theirWait.granted).toBe(false);
    await lock.release();
    expect(await theirWait.grant).toBe(true);
    expect(await mutex.tryAcquire()).toBeNull();
    const ourWait = watched(mutex.acquire({ waitMs }));
    await untilQueued(path, 1);
    expect(ourWait.granted).toBe(false);
    await theirs.release();
    const next = await ourWait.grant;
    expect(next.token).toBeGreaterThan(lock.token ?? 0n);
    await next.release();

    const standing = await client.semaphoreMutex("/semaphore-mutex-curator/tree");
    await standing.acquire();
    const held = await locks.semaphoreMutex("/semaphore-mutex-ours/tree").acquire({ waitMs });
    await untilQueued("/semaphore-mutex-ours/tree", 0);
    const { theirs: theirTree, ours: ourTree } = await trees("semaphore-mutex");
    expect(ourTree).toEqual(theirTree);
    expect(ourTree.map(nameOf)).toContain("_c_<uuid>-lease-<10 digits> ephemeral session 1 31:world:anyone");
    await standing.release();
    await held.release();
  });

  const fullGrants = 600;
  it(
    "are never more than the limit at a time, when Curator and we take one to three at once",
    async () => {
      const total = share(
        `leases of a semaphore with Curator ${fixture.java.curatorVersion}`,
        40,
        fullGrants,
      );
      const withinMs = 60_000 + total * 1_000;
      await using log = await ContentionLog.start();
      const maxLeases = 3;
      const folder = await presenceFolder(log);
      const contention = { path: "/semaphore/count", maxLeases, folder, grants: total / 4, mostAtOnce: 3 };
      const clients = [client, await fixture.curator()];
      const providers = [await fixture.ours(), await fixture.ours()];
      const seen = await Promise.all([
        ...clients.map((each, at) =>
          each.contendSemaphore({ ...contention, label: `curator-${at}` }, withinMs),
        ),
        ...providers.map((locks, at) =>
          contendSemaphore(locks.semaphore(contention.path, maxLeases), {
            ...contention,
            label: `ours-${at}`,
          }),
        ),
      ]);
      const most = Math.max(...seen.map(({ mostHolders }) => mostHolders));
      console.log(`${total} grants of one to three permits, at most ${most} held at a time`);
      expect(most, "all were in use").toBe(maxLeases);
      expect(await (await client.semaphore(contention.path, maxLeases)).leases()).toEqual([]);
      await untilQueued(contention.path, 0);
    },
    60_000 + fullGrants * 1_000,
  );

  const fullMutexGrants = 1_000;
  it(
    "as a mutex lose no update of a file that only it protects",
    async () => {
      const what = `grants of a semaphore mutex with Curator ${fixture.java.curatorVersion}`;
      const total = share(what, 80, fullMutexGrants);
      const withinMs = 60_000 + total * 200;
      await using log = await ContentionLog.start();
      const contention = { path: "/semaphore-mutex/count", ...log.files, grants: total / 4 };
      const clients = [client, await fixture.curator()];
      const providers = [await fixture.ours(), await fixture.ours()];
      const held = await (await fixture.ours()).semaphoreMutex(contention.path).acquire({ waitMs });
      await untilQueued(contention.path, 0);
      const gate = {
        queued: async () => (await client.dump(`${contention.path}/locks`)).length - 1,
        open: () => held.release(),
      };
      await behind(gate, [
        ...clients.map((each, at) =>
          each.contend({ ...contention, label: `curator-${at}` }, withinMs, "semaphoreMutex"),
        ),
        ...providers.map((locks, at) => {
          const mutex = locks.semaphoreMutex(contention.path);
          return contendBy((wait) => mutex.acquire(wait), { ...contention, label: `ours-${at}` });
        }),
      ]);
      const grants = await log.expectOrderly(total);
      const kind = (at: number): string | undefined => grants[at]?.label.slice(0, 4);
      const acrossKinds = grants.filter((_, at) => at > 0 && kind(at) !== kind(at - 1)).length;
      console.log(`${total} grants, ${acrossKinds} hand-overs between Curator and us`);
      expect(acrossKinds).toBeGreaterThan(total / 10);
    },
    60_000 + fullMutexGrants * 250,
  );
});
