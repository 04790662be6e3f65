import type { LockCollector, ObservedLock } from "@holdfast/collectors";
import { redisCollector } from "@holdfast/collectors/redis";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RedissonClient } from "../../support/redisson/redisson-client.js";
import { type RedissonPeer, startRedissonPeer } from "../../support/redisson/redisson-peer.js";
import { redissonVersions } from "../../support/redisson/redisson-versions.js";
import { drawn } from "../../support/share.js";
import { type Topology, topologies } from "./topologies.js";

const [choice] = (await redissonVersions()).filter(({ missing }) => missing === null);

if (choice === undefined) {
  it("real Redisson clients are not looked at on this machine: it has no Redisson", () => {
    expect(process.env.CI, "a continuous integration that cannot have it").toBeUndefined();
  });
} else {
  let peer: RedissonPeer;
  beforeAll(async () => {
    peer = await startRedissonPeer({ redisson: choice.version });
  });
  afterAll(() => peer?.close());

  const some = drawn("servers that Redisson and we share", Object.entries(topologies), 1, ([title]) => title);
  describe.each(some)("real Redisson clients on %s", (_title, start) => {
    let servers: Topology;
    let java: RedissonClient;
    let other: RedissonClient;
    let ours: RedisLocks;
    let collector: LockCollector;

    beforeAll(async () => {
      servers = await start();
      java = await peer.connect({ servers: servers.java, lockWatchdogTimeoutMs: 9_000 });
      other = await peer.connect({ servers: servers.java, lockWatchdogTimeoutMs: 9_000 });
      ours = redisLocks({ ...servers.ours, heartbeatMs: 200, aliveMs: 1_000 });
      collector = redisCollector({ ...servers.ours, patterns: ["j:*"], channelsEveryMs: 500 });
      await ours.ready();
    });

    afterAll(async () => {
      await collector?.close();
      await ours?.close();
      await java?.close();
      await other?.close();
      await servers?.stop();
    });

    function shown(key: string, wanted: (lock: ObservedLock) => boolean): Promise<ObservedLock> {
      return eventually(
        () => {
          const lock = collector.get(key);
          return lock !== undefined && wanted(lock) ? lock : undefined;
        },
        { what: `${key} as wanted`, withinMs: 15_000, detail: () => JSON.stringify(collector.get(key)) },
      );
    }

    it("shows the holder of a plain lock, its waiters as connections, and that its lease is renewed", async () => {
      const lock = await java.lock("j:plain");
      await lock.lock();
      const attention = collector.attend(["j:plain"]);
      const waiting = (await other.lock("j:plain")).tryLock({ waitMs: 20_000 });
      const row = await shown(
        "j:plain",
        ({ waiterCount, holders }) => waiterCount > 0 && holders[0]?.lease === "renewing",
      );
      expect(row).toMatchObject({
        kind: "mutex",
        state: "contended",
        waiterCount: 1,
        waiterUnit: "connections",
        libraries: ["redisson"],
      });
      expect(row.holders[0]).toMatchObject({ entry: await lock.owner(), session: java.id, holdCount: 1 });
      expect(row.oldestHold.provenance).toBe("at-least");
      await lock.unlock();
      expect(await waiting).toBe(true);
      const handedOn = await shown("j:plain", ({ holders }) => holders[0]?.session === other.id);
      expect(handedOn.version).not.toBe(row.version);
      attention.end();
    });

    it("shows a fair queue in order with deadlines, of both libraries", async () => {
      const first = await java.lock("j:fair", "fair");
      await first.lock();
      const second = (await other.lock("j:fair", "fair")).tryLock({ waitMs: 60_000, leaseMs: 500 });
      await eventually(
        async () => (await collector.detail("j:fair", { maxWaiters: 9 }))?.waiters.length === 1,
        {
          what: "the first waiter",
        },
      );
      const third = ours.fairMutex("j:fair").acquire();
      const detail = await eventually(
        async () => {
          const seen = await collector.detail("j:fair", { maxWaiters: 9 });
          return seen?.waiters.length === 2 ? seen : undefined;
        },
        { what: "both waiters" },
      );
      expect(detail).toMatchObject({ kind: "fair-mutex", waiterUnit: "participants", waiterCount: 2 });
      expect(detail.waiters.map(({ position, library }) => [position, library])).toEqual([
        [0, "redisson"],
        [1, "holdfast"],
      ]);
      expect(detail.waiters[0]?.session).toBe(other.id);
      expect(detail.waiters[0]?.deadlineMs).toBeGreaterThan(Date.now());
      const sessions = await collector.sessions();
      expect(sessions.find(({ id }) => id === other.id)?.waits).toContain("j:fair");
      expect(sessions.find(({ id }) => id === java.id)?.holds).toContain("j:fair");
      await first.unlock();
      expect(await second).toBe(true);
      await (await third).release();
    });

    it("shows readers with leases of their own, a fixed lease, and permits by their ids", async () => {
      const pair = await java.readWriteLock("j:rw");
      await pair.read.lock();
      const readers = await other.readWriteLock("j:rw");
      await readers.read.lock();
      const detail = await eventually(
        async () => {
          const seen = await collector.detail("j:rw", { maxWaiters: 9 });
          return seen?.holderCount === 2 ? seen : undefined;
        },
        { what: "both readers" },
      );
      expect(detail.kind).toBe("read-write-lock");
      for (const { mode, remainingMs } of detail.holders) {
        expect(mode).toBe("shared");
        expect(remainingMs).toBeGreaterThan(0);
      }
      await pair.read.unlock();
      await readers.read.unlock();

      const fixed = await java.lock("j:fixed");
      // A lease counts as fixed 1.5 s after its first half. From then on its row has to be read once.
      await fixed.lock({ leaseMs: 12_000 });
      collector.attend(["j:fixed"]);
      const row = await shown("j:fixed", ({ holders }) => holders[0]?.lease === "fixed");
      expect(row.holders[0]?.remainingMs).toBeLessThan(12_000);

      const permits = await java.permitSemaphore("j:permits");
      await permits.trySetPermits(3);
      const id = await permits.acquire({ leaseMs: 60_000 });
      const pool = await shown("j:permits", () => true);
      expect(pool).toMatchObject({ kind: "permit-semaphore", limit: 3, holderCount: 1 });
      const held = await collector.detail("j:permits", { maxWaiters: 9 });
      expect(held?.holders.map(({ entry }) => entry)).toEqual([id]);
    });

    it("frees a lock of Redisson's by force: its waiter wakes at once, its holder fails at unlock", async () => {
      const lock = await java.lock("j:force");
      await lock.lock({ leaseMs: 60_000 });
      const waiting = (await other.lock("j:force")).tryLock({ waitMs: 30_000, leaseMs: 10_000 });
      await shown("j:force", ({ waiterCount }) => waiterCount === 1);
      const seen = await collector.detail("j:force", { maxWaiters: 9 });
      const request = { action: "force-release", key: "j:force", entry: null, dryRun: false } as const;
      const wrong = await collector.act({ ...request, expectedVersion: "not this one" });
      expect(wrong.outcome).toBe("conflict");
      expect(await lock.isHeldByCurrentThread()).toBe(true);
      const startedMs = performance.now();
      const done = await collector.act({ ...request, expectedVersion: seen?.version ?? "" });
      expect(done.outcome).toBe("done");
      expect(await waiting).toBe(true);
      expect(performance.now() - startedMs).toBeLessThan(10_000);
      await expect(lock.unlock()).rejects.toThrow(/IllegalMonitorState/);
    });

    it("frees a fair lock of Redisson's by force, and evicts from its queue", async () => {
      const lock = await java.lock("j:fair-force", "fair");
      await lock.lock({ leaseMs: 60_000 });
      const waiting = (await other.lock("j:fair-force", "fair")).tryLock({ waitMs: 30_000, leaseMs: 10_000 });
      const seen = await eventually(
        async () => {
          const detail = await collector.detail("j:fair-force", { maxWaiters: 9 });
          return detail?.waiters.length === 1 ? detail : undefined;
        },
        { what: "the waiter" },
      );
      const request = { key: "j:fair-force", expectedVersion: seen.version, dryRun: true } as const;
      const entry = seen.waiters[0]?.entry ?? "";
      const evict = await collector.act({ ...request, action: "evict-waiter", entry });
      expect(evict).toMatchObject({ outcome: "would-do" });
      expect(evict.effects[0]).toContain("Redisson");
      const startedMs = performance.now();
      const done = await collector.act({ ...request, action: "force-release", entry: null, dryRun: false });
      expect(done.outcome).toBe("done");
      expect(await waiting).toBe(true);
      expect(performance.now() - startedMs).toBeLessThan(10_000);
    });

    it("shows the servers with their roles, and that all that it asks is answered", async () => {
      await eventually(
        async () => {
          const counts: Record<string, number> = {};
          for (const { role } of await collector.servers()) counts[role] = (counts[role] ?? 0) + 1;
          return JSON.stringify(counts) === JSON.stringify(servers.roles);
        },
        { what: "all servers", withinMs: 15_000 },
      );
      expect((await collector.servers()).every(({ reachable }) => reachable)).toBe(true);
      const { master = 0, replica = 0, sentinel = 0 } = servers.roles;
      const measured: Record<string, object> = {
        master: { connectedReplicas: replica / master },
        replica: { replicationLagBytes: expect.any(Number) },
        sentinel: { sentinelsKnown: sentinel },
      };
      for (const { role, measures } of await collector.servers()) expect(measures).toEqual(measured[role]);
      await eventually(
        () => collector.sources().every(({ state, coverage }) => state === "ok" && coverage === 1),
        {
          what: "whole coverage",
          withinMs: 15_000,
          detail: () => JSON.stringify(collector.sources()),
        },
      );
    });
  });
}
