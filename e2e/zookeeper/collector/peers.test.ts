import type { ActionRequest, ObservedLock } from "@holdfast/collectors";
import { type ZooKeeperCollector, zookeeperCollector } from "@holdfast/collectors/zookeeper";
import { eventually } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KazooPeer, startKazooPeer } from "../../foreign/kazoo-peer.js";
import { startTarget, type Target, targetNames } from "../../foreign/target.js";
import {
  type CuratorClient,
  curatorVersionsInShare,
  type JavaPeer,
  startJavaPeer,
} from "../../support/curator/java-peer.js";

const versions = await curatorVersionsInShare();
const waitMs = 30_000;

describe.each(targetNames)("a collector on %s", (name) => {
  let target: Target;
  let collector: ZooKeeperCollector;
  let kazoo: KazooPeer;

  beforeAll(async () => {
    [target, kazoo] = await Promise.all([startTarget(name), startKazooPeer()]);
    collector = zookeeperCollector({ connect: target.connectString, roots: ["/peers"], adminPort: false });
    await eventually(() => collector.sources()[0]?.state === "ok", { what: "the root read" });
  });
  afterAll(async () => {
    await collector?.close();
    await kazoo?.close();
    await target?.[Symbol.asyncDispose]();
  });

  async function row(key: string, wished: (row: ObservedLock) => boolean): Promise<ObservedLock> {
    return eventually(
      () => {
        const found = collector.get(key);
        return found !== undefined && wished(found) ? found : undefined;
      },
      { what: `the row of ${key}`, detail: () => JSON.stringify(collector.get(key)) },
    );
  }

  async function act(
    action: ActionRequest["action"],
    key: string,
    entry: string | null = null,
  ): Promise<Awaited<ReturnType<ZooKeeperCollector["act"]>>> {
    const expectedVersion = (await collector.detail(key, { maxWaiters: 0 }))?.version ?? "";
    // An empty parent does not show which library made it.
    const unknownLibrary = action === "clean-orphan";
    return collector.act({ action, key, entry, expectedVersion, dryRun: false, unknownLibrary });
  }

  describe.each(versions)("with Curator %s", (curator) => {
    let peer: JavaPeer;
    let one: CuratorClient;
    let two: CuratorClient;
    const at = (lock: string): string => `/peers/${curator}/${lock}`;

    beforeAll(async () => {
      peer = await startJavaPeer({ curator });
      const connect = target.connectString;
      [one, two] = await Promise.all([peer.connect({ connect }), peer.connect({ connect })]);
    });
    afterAll(() => peer?.close());

    it("shows who holds a mutex and who waits, as the server has it, and the hand-off", async () => {
      const key = at("mutex");
      const [first, second] = await Promise.all([one.mutex(key), two.mutex(key)]);
      const held = await first.acquire();
      const waiting = second.acquire({ waitMs });
      const contended = await row(key, ({ waiterCount, token }) => waiterCount === 1 && token !== null);
      expect(contended).toMatchObject({ kind: "mutex", libraries: ["curator-or-holdfast"] });
      expect(contended.token).toBe(`0x${held?.czxid.toString(16)}`);
      expect(contended.holders[0]?.session).toBe(`0x${(await one.session()).id.toString(16)}`);
      expect(contended.holders[0]?.address).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      const detail = await collector.detail(key, { maxWaiters: 10 });
      expect(detail?.waiters[0]).toMatchObject({
        position: 0,
        session: `0x${(await two.session()).id.toString(16)}`,
      });
      await first.release();
      const next = await waiting;
      const passed = await row(key, ({ state, token }) => state === "held" && token !== contended.token);
      expect(passed.token).toBe(`0x${next?.czxid.toString(16)}`);
      expect(passed.oldestHold.provenance).toBe("exact");
      await second.release();
    });

    it("asks a revocable holder, and says of a forced one that it is not notified, which is true", async () => {
      const key = at("forced");
      const first = await one.mutex(key);
      const { revoked } = await first.makeRevocable();
      await first.acquire();
      await row(key, ({ state }) => state === "held");
      expect((await act("request-revoke", key)).outcome).toBe("done");
      await revoked;
      const second = await two.mutex(key);
      const waiting = second.acquire({ waitMs });
      await row(key, ({ waiterCount }) => waiterCount === 1);
      const forced = await act("force-release", key);
      expect(forced.outcome).toBe("done");
      expect(forced.effects[0]).toMatch(/of Curator, is NOT notified/);
      expect(await waiting).not.toBeNull();
      expect(await first.holding(), "the old holder believes in it").toBe(true);
      await second.release();
      await first.release();
    });

    it("says of an evicted waiter that it comes again, which it does", async () => {
      const key = at("evicted");
      const [first, second] = await Promise.all([one.mutex(key), two.mutex(key)]);
      await first.acquire();
      const waiting = second.acquire({ waitMs });
      await row(key, ({ waiterCount }) => waiterCount === 1);
      const entry = (await collector.detail(key, { maxWaiters: 1 }))?.waiters[0]?.entry ?? "";
      const evicted = await act("evict-waiter", key, entry);
      expect(evicted.outcome).toBe("done");
      expect(evicted.effects[0]).toMatch(/of Curator, is NOT evicted/);
      await first.release();
      const again = await waiting;
      expect(again?.path.endsWith(entry)).toBe(false);
      await second.release();
    });

    it("knows semaphores, read-write locks and elections", async () => {
      const pool = await one.semaphore(at("pool"), 2);
      const lease = await pool.acquire();
      expect(await row(at("pool"), ({ holderCount }) => holderCount === 1)).toMatchObject({
        kind: "semaphore",
        limit: null,
      });
      await pool.release(lease ?? "");
      const shelf = await one.readWriteLock(at("shelf"));
      await shelf.acquire("write");
      const waiting = (await two.readWriteLock(at("shelf"))).acquire("read", { waitMs });
      const written = await row(at("shelf"), ({ waiterCount }) => waiterCount === 1);
      expect(written).toMatchObject({ kind: "read-write-lock", holderCount: 1 });
      expect(written.holders[0]?.mode).toBe("exclusive");
      await shelf.release("write");
      await waiting;
      expect((await row(at("shelf"), ({ waiterCount }) => waiterCount === 0)).holders[0]?.mode).toBe(
        "shared",
      );
    });
  });

  it("shows kazoo's holder and queue, with its identifier; it is not notified of a forced release", async () => {
    const key = "/peers/kazoo/lock";
    const connect = target.connectString;
    const [one, two] = await Promise.all([kazoo.connect({ connect }), kazoo.connect({ connect })]);
    const [first, second] = await Promise.all([one.lock(key, "job-8"), two.lock(key, "<img onerror=x>")]);
    const held = await first.acquire();
    const waiting = second.acquire({ waitMs });
    const contended = await row(key, ({ waiterCount, token }) => waiterCount === 1 && token !== null);
    expect(contended).toMatchObject({ libraries: ["kazoo"], token: `0x${held?.czxid.toString(16)}` });
    expect(contended.holders[0]).toMatchObject({ data: "job-8", identity: { label: "job-8" } });
    const detail = await collector.detail(key, { maxWaiters: 5 });
    expect(detail?.waiters[0]?.data).toBe("<img onerror=x>");
    expect((await act("request-revoke", key)).outcome).toBe("unsupported");
    const forced = await act("force-release", key);
    expect(forced).toMatchObject({ outcome: "done" });
    expect(forced.effects[0]).toMatch(/of kazoo, is NOT notified/);
    expect(await waiting).not.toBeNull();
    expect(await first.release()).toBe(true);
    await second.release();
    await row(key, ({ state }) => state === "idle");
  });

  it("says of kazoo's waiter that it comes again, and of its lock object that it misses a cleaned parent: so it is", async () => {
    const key = "/peers/kazoo/cleaned";
    const connect = target.connectString;
    const [one, two] = await Promise.all([kazoo.connect({ connect }), kazoo.connect({ connect })]);
    const [first, second] = await Promise.all([one.lock(key), two.lock(key)]);
    await first.acquire();
    const waiting = second.acquire({ waitMs });
    await row(key, ({ waiterCount }) => waiterCount === 1);
    const entry = (await collector.detail(key, { maxWaiters: 1 }))?.waiters[0]?.entry ?? "";
    const evicted = await act("evict-waiter", key, entry);
    expect(evicted.effects[0]).toMatch(/of kazoo, is NOT evicted/);
    await row(key, ({ waiterCount }) => waiterCount === 0);
    await first.release();
    expect((await waiting)?.path.endsWith(entry)).toBe(false);
    await second.release();
    await row(key, ({ state }) => state === "idle");
    const cleaned = await act("clean-orphan", key);
    expect(cleaned).toMatchObject({ outcome: "done" });
    await expect(first.acquire({ waitMs })).rejects.toThrow(/NoNodeError/);
  });

  it("joins sessions with the connections that the server tells of, and finds no difference at the end", async () => {
    const client = await kazoo.connect({ connect: target.connectString });
    const lock = await client.lock("/peers/kazoo/session", "");
    await lock.acquire();
    await row("/peers/kazoo/session", ({ state }) => state === "held");
    const id = `0x${(await client.session()).id.toString(16)}`;
    // Of a server that was late with its answer, the next reading knows.
    const found = await eventually(
      async () =>
        (await collector.sessions()).find(
          (each) => each.id === id && (name !== "a real server" || each.state === "connected"),
        ),
      { what: "the session of kazoo", everyMs: 1_000 },
    );
    expect(found?.holds).toEqual(["/peers/kazoo/session"]);
    const [server] = await collector.servers();
    expect(server).toMatchObject({ role: "standalone", reachable: true });
    expect(server?.version).toMatch(/^3\./);
    if (name === "a real server") {
      expect(found).toMatchObject({ state: "connected", timeoutMs: 10_000 });
      expect(found?.address).toMatch(/^127\.0\.0\.1:\d+$/);
      expect(found?.established.provenance).toBe("exact");
    }
    await lock.release();
    expect(await collector.compareNow()).toBe(0);
  });
});
