import type { LockSnapshot } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { RedissonClient } from "../../support/redisson/redisson-client.js";
import { withEachRedisson } from "./each-redisson.js";
import { RedissonFixture } from "./fixture.js";

const leaseMs = 3_000;
const waitMs = 30_000;
const longMs = 8_000;

type Woken = "plain" | "fair" | "write" | "read" | "semaphore" | "permitSemaphore";
type GiveBack = () => Promise<unknown>;

function channelOf(kind: Woken, name: string): string {
  if (kind === "plain" || kind === "fair") return `redisson_lock__channel:{${name}}`;
  return `${kind === "write" || kind === "read" ? "redisson_rwlock" : "redisson_sc"}:{${name}}`;
}

/**
 * `write` and `read` name the side that Java takes. Ours takes the other side, so that each of the two has to wait for the
 * other.
 */
async function oursTakes(locks: RedisLocks, kind: Woken, name: string): Promise<GiveBack> {
  const from = {
    plain: () => locks.mutex(name).acquire({ waitMs }),
    fair: () => locks.fairMutex(name).acquire({ waitMs }),
    write: () => locks.readWriteLock(name).read.acquire({ waitMs }),
    read: () => locks.readWriteLock(name).write.acquire({ waitMs }),
    semaphore: () => locks.plainSemaphore(name, 1).acquire({ waitMs }),
    permitSemaphore: () => locks.permitSemaphore(name).acquire({ waitMs }),
  }[kind];
  const hold = await from();
  return () => hold.release();
}

async function javaTakes(client: RedissonClient, kind: Woken, name: string): Promise<GiveBack> {
  if (kind === "semaphore") {
    const semaphore = await client.semaphore(name);
    await semaphore.acquire(1);
    return () => semaphore.release(1);
  }
  if (kind === "permitSemaphore") {
    const semaphore = await client.permitSemaphore(name);
    const id = (await semaphore.acquire({ leaseMs: 60_000 })) ?? "";
    return () => semaphore.release(id);
  }
  const lock = await client.lock(name, kind);
  await lock.lock();
  return () => lock.unlock();
}

/**
 * Resolves when the server has run no script at `looks` looks in a row. Then every waiter has looked again after its
 * subscription.
 */
async function settled(fixture: RedissonFixture, looks: number): Promise<void> {
  let before = -1;
  let quiet = 0;
  await expect
    .poll(
      async () => {
        const stats = String(await fixture.redis.command("info", "commandstats"));
        const calls = Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
        quiet = calls === before ? quiet + 1 : 0;
        before = calls;
        return quiet;
      },
      { interval: 100, timeout: 10_000 },
    )
    .toBeGreaterThanOrEqual(looks);
}

/** What each side sees of the other's holds, and what it cannot do to them. */
withEachRedisson(
  "a hold as the other side sees it",
  (redisson) => {
    let fixture: RedissonFixture;
    let locks: RedisLocks;
    let client: RedissonClient;

    beforeAll(async () => {
      fixture = await RedissonFixture.start(redisson, leaseMs);
      [locks, client] = await Promise.all([fixture.ours({ heartbeatMs: 200 }), fixture.redisson()]);
    });

    afterAll(() => fixture?.close());

    it.each(["plain", "fair", "spin"] as const)(
      "of our mutex: a %s lock that is locked, by no Java thread",
      async (kind) => {
        const name = `ours:${kind}`;
        const mutex = { plain: locks.mutex(name), fair: locks.fairMutex(name), spin: locks.spinMutex(name) }[
          kind
        ];
        const theirs = await client.lock(name, kind);
        const hold = await mutex.acquire({ waitMs });
        expect([
          await theirs.isLocked(),
          await theirs.isHeldByCurrentThread(),
          await theirs.holdCount(),
        ]).toEqual([true, false, 0]);
        const leftMs = await theirs.remainingMs();
        expect(leftMs).toBeGreaterThan(0);
        expect(leftMs).toBeLessThanOrEqual(leaseMs);
        expect(await theirs.tryOnce()).toBe(false);
        await expect(theirs.unlock()).rejects.toThrow("IllegalMonitorStateException");
        await hold.confirm();
        expect(await hold.release()).toBe("released");
        expect([await theirs.isLocked(), await theirs.remainingMs()]).toEqual([false, -2]);
        expect(await theirs.tryOnce()).toBe(true);
        await theirs.unlock();
      },
    );

    it.each(["plain", "fair", "spin"] as const)(
      "of Java's %s lock: its owner, count and time left, in inspect()",
      async (kind) => {
        const name = `java:${kind}`;
        const mutex = { plain: locks.mutex(name), fair: locks.fairMutex(name), spin: locks.spinMutex(name) }[
          kind
        ];
        const theirs = await client.lock(name, kind);
        await theirs.lock();
        await theirs.lock();
        const [hold] = (await mutex.inspect()).held;
        expect(hold).toMatchObject({
          backendId: await theirs.owner(),
          session: client.id,
          recognisedAs: "redisson",
          holdCount: 2,
          heldByThisProvider: false,
        });
        expect(hold?.remainingMs).toBeGreaterThan(0);
        expect(hold?.remainingMs).toBeLessThanOrEqual(leaseMs);
        expect(await mutex.tryAcquire()).toBeNull();
        await theirs.unlock();
        expect(await mutex.tryAcquire()).toBeNull();
        await theirs.unlock();
        expect((await mutex.inspect()).held).toEqual([]);
        const mine = await mutex.tryAcquire();
        expect(mine?.token).toBeGreaterThan(0n);
        await mine?.release();
      },
    );

    it("of a fair lock's queue: both kinds in the order in which they came, and they are granted in it", async () => {
      const [holder, second, fourth] = await Promise.all(
        Array.from({ length: 3 }, () => client.lock("queue", "fair")),
      );
      if (holder === undefined || second === undefined || fourth === undefined) throw new Error("no locks");
      const mutex = locks.fairMutex("queue");
      const came: string[] = [];
      await holder.lock();
      const waits: Promise<void>[] = [];
      const stand = async (wait: Promise<void>): Promise<void> => {
        waits.push(wait);
        await expect.poll(async () => (await mutex.inspect()).pendingTotal).toBe(waits.length);
      };
      const ours = async (what: string): Promise<void> => {
        const hold = await mutex.acquire({ waitMs });
        came.push(what);
        await hold.release();
      };
      const java = async (lock: typeof holder, what: string): Promise<void> => {
        await lock.lock();
        came.push(what);
        await lock.unlock();
      };
      await stand(ours("our first"));
      await stand(java(second, "Java's second"));
      await stand(ours("our third"));
      await stand(java(fourth, "Java's fourth"));
      expect(recognised(await mutex.inspect())).toEqual(["holdfast", "redisson", "holdfast", "redisson"]);
      await holder.unlock();
      await Promise.all(waits);
      expect(came).toEqual(["our first", "Java's second", "our third", "Java's fourth"]);
    });

    it("taken away by Java's forceUnlock or ours: the holder hears of it, and a waiter of the other kind gets in", async () => {
      const mutex = locks.mutex("force");
      const [theirs, other] = [await client.lock("force"), await client.lock("force")];
      const hold = await mutex.acquire({ waitMs });
      expect(await theirs.forceUnlock()).toBe(true);
      expect(await theirs.tryLock({ waitMs })).toBe(true);
      // The hold is lost with its next renewal at the latest.
      await expect.poll(() => hold.state, { timeout: leaseMs + 2_000 }).toBe("lost");
      expect(hold.lost.aborted).toBe(true);
      expect(await hold.release()).toBe("lost");
      expect([await theirs.isHeldByCurrentThread(), await other.isLocked()]).toEqual([true, true]);
      const next = mutex.acquire({ waitMs });
      await expect.poll(async () => (await mutex.inspect()).pendingTotal).toBe(1);
      expect(await other.forceUnlock()).toBe(true);
      const granted = await next;
      await expect(theirs.unlock()).rejects.toThrow("IllegalMonitorStateException");
      granted.assertHeld();
      await granted.confirm();
      await granted.release();
    });

    it("of a read-write lock: which side, whose, and who may come in beside it", async () => {
      const ours = locks.readWriteLock("rw");
      const theirs = await client.readWriteLock("rw");
      const read = await ours.read.acquire({ waitMs });
      expect([await theirs.read.isLocked(), await theirs.write.isLocked()]).toEqual([true, false]);
      expect(await theirs.read.holdCount()).toBe(0);
      expect(await theirs.write.tryOnce()).toBe(false);
      expect(await theirs.read.tryLock()).toBe(true);
      const both = (await ours.inspect()).held;
      expect(both.map(({ mode, recognisedAs }) => `${mode} ${recognisedAs}`).sort()).toEqual([
        "shared holdfast",
        "shared redisson",
      ]);
      expect(both.map(({ backendId }) => backendId)).toContain(await theirs.read.owner());
      await read.release();
      expect(await ours.write.tryAcquire()).toBeNull();
      await theirs.read.unlock();
      const write = await ours.write.acquire({ waitMs });
      expect([await theirs.read.isLocked(), await theirs.write.isLocked()]).toEqual([false, true]);
      expect(await theirs.read.tryOnce()).toBe(false);
      await expect(theirs.write.unlock()).rejects.toThrow("IllegalMonitorStateException");
      // A downgrade also lets in those readers of Java's that already sleep.
      const waiting = theirs.read.tryLock({ waitMs });
      await expect.poll(() => subscribers("redisson_rwlock:{rw}")).toBe(1);
      const reading = await write.downgrade();
      expect(await waiting).toBe(true);
      await reading.release();
      await theirs.read.unlock();
      await theirs.write.lock();
      expect((await ours.inspect()).held).toMatchObject([
        { mode: "exclusive", recognisedAs: "redisson", backendId: `${await theirs.write.owner()}:write` },
      ]);
      expect([await ours.read.tryAcquire(), await ours.write.tryAcquire()]).toEqual([null, null]);
      await theirs.write.unlock();
    });

    it("of semaphores: how many are free, which permits are taken, and for how long", async () => {
      const plain = await client.semaphore("semaphore");
      expect(await plain.trySetPermits(3)).toBe(true);
      const semaphore = locks.plainSemaphore("semaphore", 3);
      const two = await semaphore.acquire({ permits: 2, waitMs });
      expect(await plain.availablePermits()).toBe(1);
      expect(await plain.acquire(2, { waitMs: 50 })).toBe(false);
      expect(await plain.acquire(1)).toBe(true);
      expect(await semaphore.tryAcquire()).toBeNull();
      expect((await semaphore.inspect()).available).toBe(0);
      await plain.release(1);
      await two.release();
      expect(await plain.availablePermits()).toBe(3);

      const leased = await client.permitSemaphore("permits");
      const permits = locks.permitSemaphore("permits");
      expect(await permits.trySetLimit(2)).toBe(true);
      const mine = await permits.acquire({ waitMs });
      const [id = ""] = mine.permitIds;
      expect(await leased.permits()).toEqual({ free: 1, taken: 1, total: 2 });
      const leftMs = await leased.remainingMs(id);
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(leaseMs);
      const theirs = (await leased.acquire({ leaseMs: 60_000 })) ?? "";
      const snapshot = await permits.inspect();
      expect([snapshot.limit, snapshot.available]).toEqual([2, 0]);
      expect(snapshot.held.map(({ backendId }) => backendId).sort()).toEqual([id, theirs].sort());
      const waiting = permits.acquire({ waitMs });
      await leased.release(theirs);
      const second = await waiting;
      // Any Java client may give back any permit. The holder of the permit is then notified of its loss.
      expect(await leased.tryRelease(id)).toBe(1);
      await expect.poll(() => mine.state, { timeout: leaseMs + 2_000 }).toBe("lost");
      expect(await second.release()).toBe("released");
      expect(await leased.permits()).toEqual({ free: 2, taken: 0, total: 2 });
    });

    it("of a latch: one count, set, counted down and waited for by either", async () => {
      const [theirs, ours] = [await client.latch("latch"), locks.countDownLatch("latch")];
      for (const [set, down] of [
        ["ours", "theirs"],
        ["theirs", "ours"],
      ]) {
        expect(await (set === "ours" ? ours.trySetCount(2) : theirs.trySetCount(2))).toBe(true);
        expect([await ours.trySetCount(5), await theirs.trySetCount(5)]).toEqual([false, false]);
        const waits = [theirs.wait({ waitMs }), ours.wait({ waitMs })];
        await expect.poll(() => subscribers("redisson_countdownlatch__channel__{latch}")).toBe(2);
        await (down === "ours" ? ours.countDown() : theirs.countDown());
        expect([await ours.count(), await theirs.count()]).toEqual([1, 1]);
        await (down === "ours" ? ours.countDown() : theirs.countDown());
        expect((await Promise.all(waits))[0]).toBe(true);
      }
    });

    it("of several locks as one: each part is the other side's single lock", async () => {
      const all = multiLock([locks.mutex("part:a"), locks.mutex("part:b")]);
      const theirs = await client.multiLock(["part:a", "part:b"]);
      const single = await client.lock("part:b");
      const hold = await all.acquire({ waitMs });
      expect(await single.isLocked()).toBe(true);
      expect(await theirs.tryLock({ waitMs: 50 })).toBe(false);
      expect(await hold.release()).toBe("released");
      expect(await theirs.tryLock({ waitMs })).toBe(true);
      expect(await all.tryAcquire()).toBeNull();
      expect(await locks.mutex("part:a").tryAcquire()).toBeNull();
      await theirs.unlock();
      const again = await all.tryAcquire();
      expect(again).not.toBeNull();
      await again?.release();
    });

    it.each(["plain", "fair", "write", "read", "semaphore", "permitSemaphore"] as const)(
      "released: a %s waiter of the other kind hears of it at once, not when the lease would be over",
      async (kind) => {
        // With these times, nothing else would wake our waiter within the time that is allowed here.
        const patient = await fixture.ours({ leaseMs: longMs, heartbeatMs: longMs, aliveMs: 4 * longMs });
        const java = await fixture.redisson({ lockWatchdogTimeoutMs: longMs });
        const name = `wake:${kind}`;
        const channel = channelOf(kind, name);
        if (kind === "semaphore" || kind === "permitSemaphore") {
          expect(await (await java[kind](name)).trySetPermits(1)).toBe(true);
        }
        const first = await oursTakes(patient, kind, name);
        const theirs = javaTakes(java, kind, name);
        await expect.poll(() => subscribersLike(channel)).toBe(1);
        await settled(fixture, 2);
        let startedMs = performance.now();
        await first();
        const giveBack = await theirs;
        expect(performance.now() - startedMs).toBeLessThan(longMs / 2);

        const second = oursTakes(patient, kind, name);
        await expect.poll(() => subscribersLike(kind === "fair" ? `${channel}*-8*` : channel)).toBe(1);
        await settled(fixture, 2);
        startedMs = performance.now();
        await giveBack();
        await (await second)();
        expect(performance.now() - startedMs).toBeLessThan(longMs / 2);
      },
    );

    /** How many channels have subscribers, of those that begin with `pattern`. */
    async function subscribersLike(pattern: string): Promise<number> {
      const names = (await fixture.redis.command("pubsub", "channels", `${pattern}*`)) as string[];
      return names.length;
    }

    async function subscribers(channel: string): Promise<number> {
      const [, count] = (await fixture.redis.command("pubsub", "numsub", channel)) as [string, number];
      return count;
    }
  },
  { newestAlone: true },
);

function recognised({ pending }: LockSnapshot): string[] {
  return pending.map(({ recognisedAs }) => recognisedAs);
}
