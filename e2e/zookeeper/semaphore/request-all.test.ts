import type { Acquirable, LockHandle, Mutex } from "@holdfast/core";
import {
  type AcquireSpecs,
  acquireKeys,
  claimAll,
  type GrantEngine,
  resolveAcquireOptions,
  viewPartsOf,
} from "@holdfast/core/internal";
import { eventually, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";
import { onServers } from "./servers.js";

const withinMs = 15_000;
let groups = 0;

interface AskOptions {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** Asks for several locks of one client at once, as a multi-lock does. */
async function acquireAll(
  views: readonly Acquirable[],
  options: AskOptions = {},
): Promise<readonly LockHandle[]> {
  let engine: GrantEngine | undefined;
  const specs = views.map((view) => {
    const parts = viewPartsOf(view);
    if (parts === undefined) throw new Error("not a view of core's");
    engine = parts.engine;
    const resolved = resolveAcquireOptions("acquire", options, parts.defaults, acquireKeys.view);
    return { ...parts.spec(resolved), throws: false };
  });
  return (await claimAll(engine as GrantEngine, specs as unknown as AcquireSpecs)) ?? [];
}

const releaseAll = async (handles: readonly LockHandle[]): Promise<void> => {
  await Promise.all(handles.map((handle) => handle.release()));
};

onServers((_title, server) => {
  let proxy: ZooKeeperProxy;
  let locks: ZooKeeperLocks;
  let names: [string, string, string];

  beforeEach(async () => {
    proxy = await startZooKeeperProxy({ target: server.connectString });
    locks = await connected(proxy.connectString, { sessionTimeoutMs: 2_500 });
    const group = `/all/g${groups++}`;
    names = [`${group}/a`, `${group}/b`, `${group}/c`];
    await releaseAll(await acquireAll(mutexes()));
    proxy.reset();
  });
  afterEach(async () => {
    await locks.close();
    await proxy.close();
  });

  const mutexes = (client = locks): Mutex[] => names.map((name) => client.mutex(name));

  /** Waits until no client holds or waits. */
  async function allFree(): Promise<void> {
    for (const name of names) {
      await eventually(async () => (await locks.mutex(name).inspect()).kind === null, {
        withinMs,
        what: `${name} to be free`,
      });
    }
  }

  it("takes three free locks in one round trip, with one token and four requests", async () => {
    const handles = await acquireAll(mutexes());
    expect(proxy.counts()).toMatchObject({ flights: 1, requests: 4 });
    const [first] = handles;
    expect(handles.map(({ token }) => token)).toEqual([first?.token, first?.token, first?.token]);
    for (const name of names) {
      const { held } = await locks.mutex(name).inspect();
      expect(held).toMatchObject([{ heldByThisProvider: true, token: first?.token }]);
    }
    await releaseAll(handles);
    await allFree();
  });

  it("mixes mutexes, readers and writers", async () => {
    const handles = await acquireAll([
      locks.mutex(names[0]),
      locks.readWriteLock(names[1]).read,
      locks.readWriteLock(names[2]).write,
    ]);
    expect(handles).toHaveLength(3);
    const other = await connected(server.connectString);
    expect(await other.mutex(names[0]).tryAcquire()).toBeNull();
    expect(await other.readWriteLock(names[1]).read.tryAcquire()).not.toBeNull();
    expect(await other.readWriteLock(names[2]).read.tryAcquire()).toBeNull();
    await releaseAll(handles);
  });

  it("waits until the last is free, and leaves nothing when it is aborted before that", async () => {
    const other = await connected(server.connectString);
    const held = await other.mutex(names[1]).acquire();
    const abort = new AbortController();
    const aborted = acquireAll(mutexes(), { signal: abort.signal });
    await eventually(async () => (await other.mutex(names[1]).inspect()).pendingTotal === 1, {
      withinMs,
      what: "the wait",
    });
    abort.abort(new Error("given up"));
    await expect(aborted).rejects.toThrow("given up");
    await eventually(async () => (await other.mutex(names[1]).inspect()).pendingTotal === 0, {
      withinMs,
      what: "the end of the wait",
    });
    const again = acquireAll(mutexes());
    await eventually(async () => (await other.mutex(names[1]).inspect()).pendingTotal === 1, {
      withinMs,
      what: "the second wait",
    });
    await held.release();
    expect(await again).toHaveLength(3);
  });

  it("two that name the same locks in opposite orders never wait for each other for ever", async () => {
    const other = await connected(server.connectString);
    let turns = 0;
    const contend = async (order: readonly Mutex[]): Promise<void> => {
      for (let round = 0; round < 25; round++) {
        const handles = await acquireAll(order);
        expect(handles).toHaveLength(3);
        turns += 1;
        await releaseAll(handles);
      }
    };
    await Promise.all([
      contend(mutexes()),
      contend(mutexes(other).reverse()),
      contend(mutexes().reverse()),
      contend(mutexes(other)),
    ]);
    expect(turns).toBe(100);
    await allFree();
  });

  describe("a transaction", () => {
    it.each(["applied", "before"] as const)("whose answer is lost (%s) is queued for once", async (when) => {
      const lost = proxy.faults.on({ op: "multi" }, { do: "close", when });
      const handles = await acquireAll(mutexes());
      await lost.reached();
      expect(handles).toHaveLength(3);
      for (const name of names) {
        expect(await locks.mutex(name).inspect()).toMatchObject({ pendingTotal: 0, held: { length: 1 } });
      }
      await releaseAll(handles);
      await allFree();
    });

    it("whose session ends is made anew on the next", async () => {
      const ended = proxy.faults.on({ op: "multi" }, { do: "expire", when: "applied" });
      const handles = await acquireAll(mutexes());
      await ended.reached();
      expect(handles).toHaveLength(3);
      for (const name of names) {
        expect(await locks.mutex(name).inspect()).toMatchObject({ pendingTotal: 0, held: { length: 1 } });
      }
    });
  });

  it("is refused when one is held and it may not wait, and none is kept", async () => {
    const other = await connected(server.connectString);
    const held = await other.mutex(names[2]).acquire();
    expect(await acquireAll(mutexes(), { waitMs: 0 })).toEqual([]);
    await held.release();
    await allFree();
  });
});
