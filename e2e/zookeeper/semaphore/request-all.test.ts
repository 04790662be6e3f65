import type { Grant, GrantRequest, LockDriver, Ticket } from "@holdfast/core";
import { viewPartsOf } from "@holdfast/core/internal";
import { eventually, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";
import { onBothServers } from "./servers.js";

const withinMs = 15_000;
let groups = 0;

type Part = Partial<GrantRequest> & { readonly name: string };

/** What core asks of the driver for several locks at once. */
function requestAll(locks: ZooKeeperLocks, parts: readonly Part[]): Ticket<readonly Grant[]> {
  const driver = viewPartsOf(locks.mutex("any"))?.engine.driver as LockDriver;
  if (driver.requestAll === undefined) throw new Error("no requestAll");
  return driver.requestAll(
    parts.map((part) => ({
      kind: "mutex",
      mode: "exclusive",
      permits: 1,
      leaseMs: 30_000,
      label: null,
      revocable: false,
      mayWait: true,
      limit: null,
      variant: null,
      ...part,
    })),
  );
}

const releaseAll = async (grants: readonly Grant[]): Promise<void> => {
  await Promise.all(grants.map((grant) => grant.release()));
};

onBothServers((_title, server) => {
  let proxy: ZooKeeperProxy;
  let locks: ZooKeeperLocks;
  let names: [string, string, string];

  beforeEach(async () => {
    proxy = await startZooKeeperProxy({ target: server.connectString });
    locks = await connected(proxy.connectString, { sessionTimeoutMs: 2_500 });
    const group = `/all/g${groups++}`;
    names = [`${group}/a`, `${group}/b`, `${group}/c`];
    await releaseAll((await requestAll(locks, parts()).granted) ?? []);
    proxy.reset();
  });
  afterEach(async () => {
    await locks.close();
    await proxy.close();
  });

  const parts = (): Part[] => names.map((name) => ({ name }));

  /** Nobody holds or waits. */
  async function allFree(): Promise<void> {
    for (const name of names) {
      await eventually(async () => (await locks.mutex(name).inspect()).kind === null, {
        withinMs,
        what: `${name} to be free`,
      });
    }
  }

  it("takes three free locks in one round trip, with one token and four requests", async () => {
    const grants = (await requestAll(locks, parts()).granted) ?? [];
    expect(proxy.counts()).toMatchObject({ flights: 1, requests: 4 });
    const [first] = grants;
    expect(grants.map(({ token }) => token)).toEqual([first?.token, first?.token, first?.token]);
    for (const [i, name] of names.entries()) {
      const { held } = await locks.mutex(name).inspect();
      expect(held).toMatchObject([{ backendId: grants[i]?.backendId, token: first?.token }]);
    }
    await releaseAll(grants);
    await allFree();
  });

  it("mixes mutexes, readers and writers", async () => {
    const grants = await requestAll(locks, [
      { name: names[0] },
      { name: names[1], kind: "read-write-lock", mode: "shared" },
      { name: names[2], kind: "read-write-lock" },
    ]).granted;
    const other = await connected(server.connectString);
    expect(await other.mutex(names[0]).tryAcquire()).toBeNull();
    expect(await other.readWriteLock(names[1]).read.tryAcquire()).not.toBeNull();
    expect(await other.readWriteLock(names[2]).read.tryAcquire()).toBeNull();
    await releaseAll(grants ?? []);
  });

  it("waits until the last is free, and leaves nothing when it is cancelled before that", async () => {
    const other = await connected(server.connectString);
    const held = await other.mutex(names[1]).acquire();
    const ticket = requestAll(locks, parts());
    await eventually(async () => (await other.mutex(names[1]).inspect()).pendingTotal === 1, {
      withinMs,
      what: "the wait",
    });
    await ticket.cancel();
    expect(await ticket.granted).toBeNull();
    const again = requestAll(locks, parts());
    await eventually(async () => (await other.mutex(names[1]).inspect()).pendingTotal === 1, {
      withinMs,
      what: "the second wait",
    });
    await held.release();
    expect(await again.granted).toHaveLength(3);
  });

  it("two that name the same locks in opposite orders never wait for each other for ever", async () => {
    const other = await connected(server.connectString);
    let turns = 0;
    const contend = async (client: ZooKeeperLocks, order: readonly Part[]): Promise<void> => {
      for (let round = 0; round < 25; round++) {
        const grants = (await requestAll(client, order).granted) ?? [];
        expect(grants).toHaveLength(3);
        turns += 1;
        await releaseAll(grants);
      }
    };
    await Promise.all([
      contend(locks, parts()),
      contend(other, parts().reverse()),
      contend(locks, parts().reverse()),
      contend(other, parts()),
    ]);
    expect(turns).toBe(100);
    await allFree();
  });

  describe("a transaction", () => {
    it.each(["applied", "before"] as const)("whose answer is lost (%s) is queued for once", async (when) => {
      const lost = proxy.faults.on({ op: "multi" }, { do: "close", when });
      const grants = (await requestAll(locks, parts()).granted) ?? [];
      await lost.reached();
      expect(grants).toHaveLength(3);
      for (const name of names) {
        expect(await locks.mutex(name).inspect()).toMatchObject({ pendingTotal: 0, held: { length: 1 } });
      }
      await releaseAll(grants);
      await allFree();
    });

    it("whose session ends is made anew on the next", async () => {
      const ended = proxy.faults.on({ op: "multi" }, { do: "expire", when: "applied" });
      const grants = (await requestAll(locks, parts()).granted) ?? [];
      await ended.reached();
      expect(grants).toHaveLength(3);
      for (const name of names) {
        expect(await locks.mutex(name).inspect()).toMatchObject({ pendingTotal: 0, held: { length: 1 } });
      }
    });
  });

  it("is null when one is held and nobody may wait, and none is kept", async () => {
    const other = await connected(server.connectString);
    const held = await other.mutex(names[2]).acquire();
    expect(
      await requestAll(
        locks,
        names.map((name) => ({ name, mayWait: false })),
      ).granted,
    ).toBeNull();
    await held.release();
    await allFree();
  });
});
