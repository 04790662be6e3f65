import { LockLostError, NotHeldError } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { describe, expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";
import { forceOpen, forceOpenAsJava } from "../../support/redis/redis-force.js";

const server = new OneServer();
const waitersOf = (name: string): string => `holdfast_waiters:{${name}}`;

describe("entering again", () => {
  it("1: an owner enters again, and the lock is free after as many releases, while the hash says one hold", async () => {
    const name = server.name("again");
    const lock = (await server.locks()).reentrantMutex(name);
    const other = (await server.locks()).reentrantMutex(name);
    const owner = { id: "job-1" };
    const handles = [
      await lock.acquire({ owner }),
      await lock.acquire({ owner }),
      await lock.acquire({ owner }),
    ];
    const [backend, ...more] = await server.texts("HGETALL", name);
    expect(backend).toMatch(/^[0-9a-f-]{36}:\d+$/);
    expect(more).toEqual(["1"]);
    expect(new Set(handles.map(({ token }) => token)).size).toBe(1);
    const outcomes: string[] = [];
    for (const handle of handles) {
      expect(await other.tryAcquire()).toBeNull();
      outcomes.push(await handle.release());
    }
    expect(outcomes).toEqual(["still-held", "still-held", "released"]);
    const next = await other.tryAcquire();
    expect(await next?.release()).toBe("released");
  });

  it("1: leaving one of several entries changes no TTL", async () => {
    const name = server.name("partial");
    const lock = (await server.locks()).reentrantMutex(name);
    const owner = { id: "job-1" };
    const outer = await lock.acquire({ owner, leaseMs: 20_000, renew: false });
    const inner = await lock.acquire({ owner, leaseMs: 1_000 });
    // No renewal of ours would set a lease of this length.
    await server.node.command("PEXPIRE", name, 60_000);
    expect(await inner.release()).toBe("still-held");
    expect(await server.number("PTTL", name)).toBeGreaterThan(55_000);
    expect(await outer.release()).toBe("released");
  });

  it("2: an owner's count goes 0, 1, 2, 1, 0, by owner and by scope", async () => {
    const name = server.name("count");
    const lock = (await server.locks()).reentrantMutex(name);
    const owner = { id: "job-2" };
    const counts = [lock.holdCount(owner)];
    const outer = await lock.acquire({ owner });
    counts.push(lock.holdCount(owner));
    const inner = await lock.acquire({ owner });
    counts.push(lock.holdCount(owner));
    await inner.release();
    counts.push(lock.holdCount(owner));
    await outer.release();
    counts.push(lock.holdCount(owner));
    expect(counts).toEqual([0, 1, 2, 1, 0]);

    const scoped = [lock.holdCount()];
    await lock.withLock(async () => {
      scoped.push(lock.holdCount());
      await lock.withLock(() => void scoped.push(lock.holdCount()));
      scoped.push(lock.holdCount());
    });
    scoped.push(lock.holdCount());
    expect(scoped).toEqual([0, 1, 2, 1, 0]);
  });

  it("3: another owner does not hold what this one holds, here nor in another client", async () => {
    const name = server.name("mine");
    const [mine, theirs] = [await server.locks(), await server.locks()];
    const lock = mine.reentrantMutex(name);
    const handle = await lock.acquire({ owner: { id: "mine" } });
    expect(lock.holdCount({ id: "mine" })).toBe(1);
    expect(lock.holdCount({ id: "other" })).toBe(0);
    expect(await lock.tryAcquire({ owner: { id: "other" } })).toBeNull();
    expect(theirs.reentrantMutex(name).holdCount({ id: "mine" })).toBe(0);
    const seen = await Promise.all([mine, theirs].map((each) => each.reentrantMutex(name).inspect()));
    expect(seen.map(({ held }) => held.map(({ heldByThisProvider }) => heldByThisProvider))).toEqual([
      [true],
      [false],
    ]);
    await handle.release();
  });
});

describe("seen and ended from outside", () => {
  it("4: another client sees that it is locked, and that it is not after the release", async () => {
    const name = server.name("seen");
    const [one, other] = [await server.locks(), await server.locks()];
    const handle = await one.mutex(name).acquire();
    const { held } = await other.mutex(name).inspect();
    expect(held.map(({ token }) => token)).toEqual([handle.token]);
    await handle.release();
    expect((await other.mutex(name).inspect()).held).toEqual([]);
  });

  it("5: a hold that is over releases nothing of the holder after it, and says so", async () => {
    const name = server.name("stranger");
    const [one, other] = [await server.locks(), await server.locks()];
    const over = await one.mutex(name).acquire({ leaseMs: 300, renew: false });
    const { lost } = over;
    const held = await other.mutex(name).acquire({ waitMs: 10_000 });
    const before = await server.texts("HGETALL", name);
    expect(await over.release()).toBe("lost");
    expect(lost.aborted).toBe(true);
    expect(() => over.assertHeld()).toThrow(LockLostError);
    expect(await server.texts("HGETALL", name)).toEqual(before);
    held.assertHeld();
    expect(await held.release()).toBe("released");
  });

  it("5: a handle that was released ends nothing a second time, not even a later hold of its own client", async () => {
    const name = server.name("twice");
    const mutex = (await server.locks()).mutex(name);
    const first = await mutex.acquire();
    expect(await first.release()).toBe("released");
    const second = await mutex.acquire();
    expect(await first.release()).toBe("released");
    expect(() => first.assertHeld()).toThrow(NotHeldError);
    await second.confirm();
    expect(await server.number("HLEN", name)).toBe(1);
    expect(await second.release()).toBe("released");
  });

  it("6: a release after the lease has ended says that the hold was lost", async () => {
    const name = server.name("expired");
    const handle = await (await server.locks()).mutex(name).acquire({ leaseMs: 300, renew: false });
    await eventually(async () => (await server.number("EXISTS", name)) === 0, { what: "the lease to end" });
    expect(await handle.release()).toBe("lost");
    expect(() => handle.assertHeld()).toThrow(LockLostError);
  });

  it.each([
    ["by force of ours", "stolen", (name: string) => forceFrom(name)],
    ["by Java's force", "lease-missing", (name: string) => forceOpenAsJava(server.node, name)],
  ])(
    "10: an operator frees the lock %s: the waiter proceeds, and the holder hears of it: %s",
    async (_how, reason, force) => {
      const name = server.name("forced");
      const [one, other] = [await server.locks({ leaseMs: 4_500 }), await server.locks()];
      const held = await one.mutex(name).acquire();
      const { lost } = held;
      const waiting = other.mutex(name).acquire({ waitMs: 10_000 });
      await server.untilLong(waitersOf(name), 1);
      const forcedMs = performance.now();
      await force(name);
      const next = await waiting;
      expect(performance.now() - forcedMs).toBeLessThan(9_000);
      expect(next.token).toBeGreaterThan(held.token as bigint);
      await eventually(() => lost.aborted, { what: "the loss", withinMs: 20_000 });
      expect(lost.reason).toMatchObject({ reason });
      expect(await held.release()).toBe("lost");
      await next.confirm();
      expect(await next.release()).toBe("released");
    },
  );

  it("11: a deleted key frees the lock as force does, also without a message", async () => {
    const name = server.name("deleted");
    const [one, other] = [await server.locks({ leaseMs: 4_500 }), await server.locks()];
    const held = await one.mutex(name).acquire();
    const { lost } = held;
    const waiting = other.mutex(name).acquire({ waitMs: 10_000 });
    await server.untilLong(waitersOf(name), 1);
    await server.node.command("DEL", name);
    const next = await waiting;
    await eventually(() => lost.aborted, { what: "the loss", withinMs: 20_000 });
    expect(lost.reason).toMatchObject({ reason: "lease-missing" });
    expect(await held.release()).toBe("lost");
    expect(await next.release()).toBe("released");
  });

  async function forceFrom(name: string): Promise<void> {
    const mutex = (await server.locks()).mutex(name);
    expect(await forceOpen(mutex)).toBe(true);
  }
});

describe("the time that is left", () => {
  it("12: it is -2 when free, near the lease when held, and 30 s where nothing is said", async () => {
    const name = server.name("ttl");
    const locks = await server.locks();
    expect(await server.number("PTTL", name)).toBe(-2);
    const short = await locks.mutex(name).acquire({ leaseMs: 5_000, renew: false });
    expect(await server.number("PTTL", name)).toBeGreaterThan(3_000);
    expect(await server.number("PTTL", name)).toBeLessThanOrEqual(5_000);
    expect((await locks.mutex(name).inspect()).held[0]?.remainingMs).toBeGreaterThan(3_000);
    expect(short.remainingMs()).toBeLessThan(5_000);
    await short.release();
    expect(await server.number("PTTL", name)).toBe(-2);

    const renewed = await locks.mutex(name).acquire();
    expect(await server.number("PTTL", name)).toBeGreaterThan(28_000);
    expect(await server.number("PTTL", name)).toBeLessThanOrEqual(30_000);
    await renewed.release();
  });

  it("12: another lock object of the same name, with another lease, does not touch it", async () => {
    const name = server.name("ttl");
    const [one, other] = [await server.locks(), await server.locks({ leaseMs: 1_000 })];
    const handle = await one.mutex(name).acquire({ leaseMs: 20_000, renew: false });
    expect(await other.mutex(name).tryAcquire({ leaseMs: 1_000 })).toBeNull();
    expect(await one.mutex(name, { leaseMs: 90_000 }).tryAcquire()).toBeNull();
    expect(await other.mutex(name).tryAcquire({ waitMs: 500 })).toBeNull();
    const leftMs = await server.number("PTTL", name);
    expect(leftMs).toBeGreaterThan(15_000);
    expect(leftMs).toBeLessThanOrEqual(20_000);
    await handle.release();
  });
});

it("21: the application hears of a hold that ran out before anybody else has the lock, and of one that was given back", async () => {
  const name = server.name("events");
  const [locks, others] = [await server.locks(), await server.locks()];
  const told: string[] = [];
  locks.events.on("lost", (event) => told.push(`${event.name} lost ${event.reason}`));
  locks.events.on("released", (event) => told.push(`${event.name} released ${event.outcome}`));
  const handle = await locks.mutex(name).acquire({ leaseMs: 300, renew: false });
  const { lost } = handle;
  const next = await others.mutex(name).acquire({ waitMs: 5_000 });
  // A late turn of the event loop may read the grant before it serves the timer of the loss. A look at the handle then reports
  // the loss at once.
  expect(handle.state).toBe("lost");
  await expect.poll(() => told).toEqual([`${name} lost lease-expired`]);
  expect(lost.reason).toMatchObject({ name: "LockLostError", reason: "lease-expired" });
  await next.release();
  const again = await locks.mutex(name).acquire();
  await again.release();
  expect(told).toEqual([`${name} lost lease-expired`, `${name} released released`]);
});
