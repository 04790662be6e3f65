import {
  EvictedError,
  LayoutConflictError,
  LockLostError,
  type LockProvider,
  MemorySpace,
  memoryLocks,
  systemRuntime,
  UnsupportedError,
} from "@holdfast/core";
import type { AttemptListener, Grant, GrantRequest, GrantState } from "@holdfast/core/driver";
import { EventHub } from "@holdfast/core/internal";
import { memoryControls } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { MemoryDriver } from "../src/memory/memory-driver.js";
import { MemoryLink } from "../src/memory/memory-link.js";

const state: GrantState = {
  delivered: true,
  doubted: false,
  uncertain() {},
  recovered() {},
  revokeRequested() {},
  lost() {},
};

/** Begins one attempt and returns its end as a promise. */
function ask(
  begin: (listener: AttemptListener) => unknown,
  notified: () => void = () => {},
): Promise<Grant | null> {
  return new Promise((resolve, reject) => {
    begin({
      granted: ([grant]) => {
        resolve(grant);
        return [state];
      },
      unavailable: () => resolve(null),
      failed: reject,
      sessionEnded: () => reject(new Error("the session ended")),
      waiting() {},
      notified,
      requeued() {},
      sequenceHigh() {},
    });
  });
}

function request(overrides: Partial<GrantRequest> = {}): GrantRequest {
  return {
    kind: "semaphore",
    name: "a",
    mode: "shared",
    permits: 1,
    leaseMs: 30_000,
    keepable: false,
    label: null,
    revocable: false,
    mayWait: true,
    limit: 3,
    variant: null,
    ...overrides,
  };
}

function granted(memory: MemoryDriver, asked: GrantRequest, notified?: () => void): Promise<Grant | null> {
  return ask((listener) => memory.attempt([asked], listener), notified);
}

function beside(
  memory: MemoryDriver,
  write: Grant,
  read: Pick<GrantRequest, "label" | "revocable">,
): Promise<Grant | null> {
  return ask((listener) => memory.attemptBeside(write, read, listener));
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
          expect((error as Error).message).toMatch(
            /"a" is in use as a .*, and a .* on the same name would not exclude it/,
          );
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
  it("has no counters to keep a limit in, and grants no permits without one", async () => {
    const { driver: memory } = driver();
    const counted = request({ limit: { countedBy: "c" } });
    const refused = (asked: GrantRequest) => expect(granted(memory, asked)).rejects;
    await refused(counted).toThrow(UnsupportedError);
    await refused(counted).toThrow(/"c" cannot be the limit of "a"/);
    await refused(request({ limit: null })).toThrow(UnsupportedError);
    await refused(request({ kind: "mutex" })).toThrow(UnsupportedError);
  });

  it("gives each permit an id of its own, and shows each by it", async () => {
    const { driver: memory } = driver();
    const two = await granted(memory, request({ permits: 2 }));
    const one = await granted(memory, request());
    const ids = [...(two?.permitIds ?? []), ...(one?.permitIds ?? [])];
    expect(new Set(ids).size).toBe(3);
    expect(two?.permitIds).toContain(two?.backendId);
    const { held } = await memory.inspect("semaphore", "a", {});
    expect(held.map((info) => info.backendId)).toEqual(ids);
    const mutex = await granted(memory, request({ name: "m", kind: "mutex", limit: null }));
    expect(mutex?.permitIds).toEqual([]);
  });

  it("grants permits all or none, in order: a small request does not pass a big one", async () => {
    const { driver: memory, space } = driver();
    const held = await granted(memory, request({ permits: 2 }));
    const big = granted(memory, request({ permits: 2 }));
    const small = granted(memory, request());
    expect(await granted(memory, request({ mayWait: false }))).toBeNull();
    expect(space.queue("a").map(({ token }) => token !== null)).toEqual([true, false, false]);
    await held?.release();
    await Promise.all([big, small]);
    expect(space.queue("a").map(({ permits }) => permits)).toEqual([2, 1]);
  });

  it("notifies watchers after each change, several at once as one, and never before or after they watch", async () => {
    const { driver: memory, space } = driver();
    const queues: number[] = [];
    const stop = memory.watch("semaphore", "a", () => queues.push(space.queue("a").length));
    await nextTurn();
    expect(queues).toEqual([]);
    const grants = await Promise.all([1, 2].map(() => granted(memory, request())));
    expect(queues).toEqual([2]);
    const [first, second] = grants;
    if (first === null || first === undefined) throw new Error("not granted");
    await memory.announce(first, "new label");
    await nextTurn();
    expect(queues).toEqual([2, 2]);
    expect((await memory.inspect("semaphore", "a", {})).held[0]?.label).toBe("new label");
    await granted(memory, request({ name: "b" }));
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
    const write = await granted(memory, request({ kind: "read-write-lock", mode: "exclusive", limit: null }));
    const reader = granted(memory, request({ kind: "read-write-lock", limit: null }));
    if (write === null) throw new Error("not granted");
    const read = await beside(memory, write, { label: "r", revocable: false });
    expect(read?.token).toBe(write.token);
    expect(space.queue("a").map(({ token }) => token)).toEqual([write.token, write.token, null]);
    await write.release();
    await expect(beside(memory, write, { label: null, revocable: false })).rejects.toThrow(LockLostError);
    expect((await reader)?.token).toBeGreaterThan(read?.token as bigint);
    expect(space.queue("a")).toHaveLength(2);
    link.expire();
    // The end of a session is spread over several turns of the event loop.
    await expect.poll(() => space.names()).toEqual([]);
  });

  it("refuses a read beside a write when its session ended while contact was away", async () => {
    const { driver: memory, space, link } = driver();
    const asked = request({ kind: "read-write-lock", mode: "exclusive", limit: null });
    const write = await granted(memory, asked);
    if (write === null) throw new Error("not granted");
    link.suspend();
    const read = { label: null, revocable: false };
    await expect(beside(memory, write, read)).rejects.toMatchObject({ code: "HF_BACKEND", lockName: "a" });
    link.expire();
    link.reconnect();
    await expect(beside(memory, write, read)).rejects.toMatchObject({ reason: "session-expired" });
    expect(space.names()).toEqual([]);
  });

  it("ends a session as a whole before any waiter is granted what it leaves", async () => {
    const { driver: memory, space, link } = driver();
    const mutex = { kind: "mutex", mode: "exclusive", limit: null } as const;
    for (const name of ["a", "b"]) await granted(memory, request({ ...mutex, name }));
    const waiting = granted(memory, request({ ...mutex, name: "a" }));
    const ended = expect(waiting).rejects.toThrow("the session ended");
    const { driver: other } = driver(space, "q");
    const left: number[] = [];
    const notified = () => left.push(...["a", "b"].map((name) => space.queue(name).length));
    const next = granted(other, request({ ...mutex, name: "a" }), notified);
    link.expire();
    expect((await next)?.token).toBe(3n);
    await ended;
    expect(left).toEqual([1, 0]);
  });

  it("evicts the victim of a theft also when the theft comes between the grant and its delivery", async () => {
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

it("grants to the next waiter when a session is expired, although a listener of that event reads the hold", async () => {
  const space = new MemorySpace();
  const [away, near] = [memoryLocks({ space }), memoryLocks({ space })];
  const held = await away.mutex("a").acquire();
  const next = near.mutex("a").acquire({ waitMs: 5_000 });
  const seen: string[] = [];
  away.events.on("session-state", () => seen.push(held.state));
  memoryControls(away).expire();
  await (await next).release();
  expect(seen).toEqual(["lost"]);
  await Promise.all([away.close(), near.close()]);
});
