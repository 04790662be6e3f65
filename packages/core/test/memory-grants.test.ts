import {
  EvictedError,
  type GrantRequest,
  LayoutConflictError,
  LockLostError,
  type LockProvider,
  MemorySpace,
  memoryLocks,
  systemRuntime,
  UnsupportedError,
} from "@holdfast/core";
import { EventHub } from "@holdfast/core/internal";
import { memoryControls } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { MemoryDriver } from "../src/memory/memory-driver.js";
import { MemoryLink } from "../src/memory/memory-link.js";

const progress = { waiting() {}, notified() {}, requeued() {}, sequenceHigh() {} };

function request(overrides: Partial<GrantRequest> = {}): GrantRequest {
  return {
    kind: "semaphore",
    name: "a",
    mode: "shared",
    permits: 1,
    leaseMs: 30_000,
    label: null,
    revocable: false,
    mayWait: true,
    limit: 3,
    variant: null,
    ...overrides,
  };
}

function driver(space = new MemorySpace(), provider = "p") {
  const events = new EventHub({ provider, backend: "memory", runtime: systemRuntime });
  const link = new MemoryLink(provider, events, systemRuntime);
  return { space, link, driver: new MemoryDriver(space, link, systemRuntime) };
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("kinds on one name, in memory", () => {
  type Take = (locks: LockProvider) => Promise<{ release(): Promise<unknown> }>;
  const takes: Record<string, Take[]> = {
    mutex: [(locks) => locks.mutex("a").acquire(), (locks) => locks.reentrantMutex("a").acquire()],
    "read-write": [
      (locks) => locks.readWriteLock("a").write.acquire(),
      (locks) => locks.reentrantReadWriteLock("a").read.acquire(),
    ],
    semaphore: [(locks) => locks.semaphore("a", 1).acquire()],
    election: [(locks) => locks.leaderElection("a").campaign()],
  };

  it("conflict at once when they know nothing of each other, and may follow each other", async () => {
    for (const [family, [first]] of Object.entries(takes)) {
      for (const [other, rivals] of Object.entries(takes)) {
        if (first === undefined || other === family) continue;
        const space = new MemorySpace();
        const held = await first(memoryLocks({ space }));
        for (const rival of rivals) {
          const error = await rival(memoryLocks({ space })).catch((reason) => reason);
          expect(error).toBeInstanceOf(LayoutConflictError);
          expect((error as Error).message).toMatch(/"a" is in use as a .*: a .* there excludes nobody/);
        }
        await held.release();
        for (const rival of rivals) await (await rival(memoryLocks({ space }))).release();
        expect(space.names()).toEqual([]);
      }
    }
  });

  it("exclude each other within a family, re-entrant or not", async () => {
    const space = new MemorySpace();
    const plain = await memoryLocks({ space }).readWriteLock("a").read.acquire();
    const locks = memoryLocks({ space });
    expect(await locks.reentrantReadWriteLock("a").write.tryAcquire()).toBeNull();
    const reader = await locks.reentrantReadWriteLock("a").read.acquire();
    await plain.release();
    await reader.release();
  });

  it("conflict for a waiter too, whose session ended and whose name is another's by then", async () => {
    const space = new MemorySpace();
    const first = memoryLocks({ space });
    const held = await first.mutex("a").acquire();
    const away = memoryLocks({ space });
    const waiting = away
      .mutex("a")
      .acquire()
      .catch((reason) => reason);
    memoryControls(away).expire();
    await held.release();
    const permit = await first.semaphore("a", 1).acquire();
    memoryControls(away).reconnect();
    expect(await waiting).toBeInstanceOf(LayoutConflictError);
    await permit.release();
    expect(space.names()).toEqual([]);
  });

  it("conflict over the limit of a semaphore, with both numbers named", async () => {
    const space = new MemorySpace();
    const held = await memoryLocks({ space }).semaphore("a", 3).acquire();
    const error = await memoryLocks({ space })
      .semaphore("a", 5)
      .acquire()
      .catch((reason) => reason);
    expect(error).toBeInstanceOf(LayoutConflictError);
    expect((error as Error).message).toMatch(/limit 3.*limit is 5/);
    await held.release();
    await (await memoryLocks({ space }).semaphore("a", 5).acquire()).release();
  });
});

describe("the driver in memory", () => {
  it("has no counters to keep a limit in, and grants no permits without one", () => {
    const { driver: memory } = driver();
    const counted = request({ limit: { countedBy: "c" } });
    expect(() => memory.request(counted, progress)).toThrow(UnsupportedError);
    expect(() => memory.request(counted, progress)).toThrow(/"c" cannot be the limit of "a"/);
    expect(() => memory.request(request({ limit: null }), progress)).toThrow(UnsupportedError);
    expect(() => memory.request(request({ kind: "mutex" }), progress)).toThrow(UnsupportedError);
  });

  it("gives each permit an id of its own, and shows each by it", async () => {
    const { driver: memory } = driver();
    const two = await memory.request(request({ permits: 2 }), progress).granted;
    const one = await memory.request(request(), progress).granted;
    const ids = [...(two?.permitIds ?? []), ...(one?.permitIds ?? [])];
    expect(new Set(ids).size).toBe(3);
    expect(two?.permitIds).toContain(two?.backendId);
    const { held } = await memory.inspect("semaphore", "a", {});
    expect(held.map((info) => info.backendId)).toEqual(ids);
    const mutex = await memory.request(request({ name: "m", kind: "mutex", limit: null }), progress).granted;
    expect(mutex?.permitIds).toEqual([]);
  });

  it("grants permits all or none, in order: a small request does not pass a big one", async () => {
    const { driver: memory, space } = driver();
    const held = await memory.request(request({ permits: 2 }), progress).granted;
    const big = memory.request(request({ permits: 2 }), progress);
    const small = memory.request(request(), progress);
    expect(await memory.request(request({ mayWait: false }), progress).granted).toBeNull();
    expect(space.queue("a").map(({ token }) => token !== null)).toEqual([true, false, false]);
    await held?.release();
    await Promise.all([big.granted, small.granted]);
    expect(space.queue("a").map(({ permits }) => permits)).toEqual([2, 1]);
  });

  it("tells watchers after each change, several at once as one, and never before or after they watch", async () => {
    const { driver: memory, space } = driver();
    const queues: number[] = [];
    const stop = memory.watch("semaphore", "a", () => queues.push(space.queue("a").length));
    await nextTurn();
    expect(queues).toEqual([]);
    const grants = await Promise.all([1, 2].map(() => memory.request(request(), progress).granted));
    expect(queues).toEqual([2]);
    const [first, second] = grants;
    if (first === null || first === undefined) throw new Error("not granted");
    await memory.announce(first, "new label");
    await nextTurn();
    expect(queues).toEqual([2, 2]);
    expect((await memory.inspect("semaphore", "a", {})).held[0]?.label).toBe("new label");
    await memory.request(request({ name: "b" }), progress).granted;
    await nextTurn();
    expect(queues).toEqual([2, 2]);
    await first.release();
    await nextTurn();
    expect(queues).toEqual([2, 2, 1]);
    const releasing = second?.release();
    stop();
    await releasing;
    await nextTurn();
    expect(queues).toEqual([2, 2, 1]);
    await expect(memory.announce(first, "too late")).rejects.toThrow(LockLostError);
  });

  it("puts a read beside a held write, and refuses it once that is gone", async () => {
    const { driver: memory, space, link } = driver();
    const write = await memory.request(
      request({ kind: "read-write-lock", mode: "exclusive", limit: null }),
      progress,
    ).granted;
    const reader = memory.request(request({ kind: "read-write-lock", limit: null }), progress);
    if (write === null) throw new Error("not granted");
    const read = await memory.downgrade(write, { label: "r", revocable: false });
    expect(read.token).toBe(write.token);
    expect(space.queue("a").map(({ token }) => token)).toEqual([write.token, write.token, null]);
    await write.release();
    await expect(memory.downgrade(write, { label: null, revocable: false })).rejects.toThrow(LockLostError);
    expect((await reader.granted)?.token).toBeGreaterThan(read.token as bigint);
    expect(space.queue("a")).toHaveLength(2);
    link.expire();
    expect(space.names()).toEqual([]);
  });

  it("refuses a read beside a write when its session ended while contact was away", async () => {
    const { driver: memory, space, link } = driver();
    const asked = request({ kind: "read-write-lock", mode: "exclusive", limit: null });
    const write = await memory.request(asked, progress).granted;
    if (write === null) throw new Error("not granted");
    link.suspend();
    const reading = memory.downgrade(write, { label: null, revocable: false });
    const refused = expect(reading).rejects.toMatchObject({ reason: "session-expired" });
    link.expire();
    link.reconnect();
    await refused;
    expect(space.names()).toEqual([]);
  });

  it("ends a session as a whole before anybody is granted what it leaves", async () => {
    const { driver: memory, space, link } = driver();
    const mutex = { kind: "mutex", mode: "exclusive", limit: null } as const;
    for (const name of ["a", "b"]) await memory.request(request({ ...mutex, name }), progress).granted;
    memory.request(request({ ...mutex, name: "a" }), progress);
    const { driver: other } = driver(space, "q");
    const left: number[] = [];
    const notified = () => left.push(...["a", "b"].map((name) => space.queue(name).length));
    const next = other.request(request({ ...mutex, name: "a" }), { ...progress, notified }).granted;
    link.expire();
    expect((await next)?.token).toBe(3n);
    expect(left).toEqual([1, 0]);
  });

  it("tells a thief's victim also when the theft comes between the grant and its delivery", async () => {
    const space = new MemorySpace();
    const locks = memoryLocks({ space });
    const acquiring = locks
      .mutex("a")
      .acquire()
      .catch((reason) => reason);
    memoryControls(locks).steal("a");
    expect(await acquiring).toBeInstanceOf(EvictedError);
    expect(locks.holds()).toEqual([]);
  });
});
