import { setTimeout as pass } from "node:timers/promises";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { RedissonClient } from "../../support/redisson/redisson-client.js";
import type { OurProcess } from "../../support/redisson/redisson-contender-process.js";
import type { RedissonLock } from "../../support/redisson/redisson-lock.js";
import { acquireOf } from "../../support/redisson/redisson-our-turns.js";
import type { RedissonPeer } from "../../support/redisson/redisson-peer.js";
import { withEachRedisson } from "./each-redisson.js";
import { RedissonFixture } from "./fixture.js";

/** Both sides renew after a third of the lease, and a busy machine may keep a JVM waiting for more than a second. */
const leaseMs = 2_500;
/** Slack for a busy machine. Nothing that the locks themselves do takes longer than their lease. */
const slackMs = 3_000;
const waitMs = 30_000;
/** Often in one lease, but not so often that these looks take up a whole core. */
const lookEveryMs = 50;
const exclusive = ["plain", "fair", "spin", "write", "fenced"] as const;

withEachRedisson(
  "a lock whose holder died without a word",
  (redisson) => {
    let fixture: RedissonFixture;
    let locks: RedisLocks;
    let client: RedissonClient;
    let doomedJvm: RedissonPeer;
    let doomed: RedissonClient;
    let doomedOurs: OurProcess;

    beforeAll(async () => {
      fixture = await RedissonFixture.start(redisson, leaseMs);
      doomedJvm = await fixture.jvm();
      [locks, client, doomed, doomedOurs] = await Promise.all([
        fixture.ours(),
        fixture.redisson(),
        fixture.redisson({}, doomedJvm),
        fixture.ourProcess(),
      ]);
    });

    afterAll(async () => {
      // The test may already have killed this process. A second SIGKILL does no harm.
      await doomedOurs?.kill();
      await fixture?.close();
    });

    it("goes from a killed JVM to a waiter of ours within the lease, of every kind that has one", async () => {
      const holders = await Promise.all(exclusive.map((kind) => lockOf(doomed, kind, `java:${kind}`)));
      const rw = await doomed.readWriteLock("java:read");
      await Promise.all([...holders, rw.read].map((lock) => lock.lock()));
      const permits = await doomed.permitSemaphore("java:permit");
      expect(await permits.trySetPermits(1)).toBe(true);
      expect(await permits.acquire({ leaseMs: 2 * leaseMs })).not.toBeNull();
      const { waits, granted } = watch([
        ...exclusive.map((kind) => acquireOf(locks, kind, `java:${kind}`)({ waitMs })),
        locks.readWriteLock("java:read").write.acquire({ waitMs }),
        locks.permitSemaphore("java:permit").acquire({ waitMs }),
      ]);
      await untilRenewed("java:plain");
      expect(granted()).toBe(0);
      const killedMs = performance.now();
      await doomedJvm.kill();
      const holds = await Promise.all(waits);
      // The lease of the permit is the longest one, and nothing renews it.
      expect(performance.now() - killedMs).toBeLessThan(2 * leaseMs + slackMs);
      await Promise.all(holds.map((hold) => hold.release()));
    });

    it("goes from a killed process of ours to a waiter of Java's within the lease, of every kind that has one", async () => {
      const permits = await client.permitSemaphore("ours:permit");
      expect(await permits.trySetPermits(1)).toBe(true);
      await Promise.all(exclusive.map((kind) => doomedOurs.hold({ kind, name: `ours:${kind}`, waitMs })));
      await doomedOurs.hold({ kind: "read", name: "ours:read", waitMs });
      await doomedOurs.hold({ kind: "permitSemaphore", name: "ours:permit", waitMs });
      const waiters = await Promise.all(exclusive.map((kind) => lockOf(client, kind, `ours:${kind}`)));
      const writer = (await client.readWriteLock("ours:read")).write;
      const { waits, granted } = watch<unknown>([
        ...[...waiters, writer].map((lock) => lock.tryLock({ waitMs })),
        permits.acquire({ waitMs, leaseMs: 60_000 }),
      ]);
      await untilRenewed("ours:plain");
      expect(granted()).toBe(0);
      const killedMs = performance.now();
      await doomedOurs.kill();
      expect(await Promise.all(waits)).toEqual([...exclusive.map(() => true), true, expect.any(String)]);
      // A Redisson waiter for permits looks again when the lease ends that it saw at its last look.
      expect(performance.now() - killedMs).toBeLessThan(2 * leaseMs + slackMs);
      await Promise.all([...waiters, writer].map((lock) => lock.unlock()));
    });

    it.concurrent("is shared by readers of both kinds, each renewed by its own side for as long as it reads", async () => {
      const theirs = await client.readWriteLock("renewed");
      const ours = locks.readWriteLock("renewed");
      await theirs.read.lock();
      const mine = await ours.read.acquire({ waitMs });
      await past(2, async () => {
        expect((await ours.inspect()).held.map(({ remainingMs }) => (remainingMs ?? 0) > 0)).toEqual([
          true,
          true,
        ]);
        expect(await theirs.write.tryOnce({ thread: "other" })).toBe(false);
        expect(await ours.write.tryAcquire()).toBeNull();
      });
      mine.assertHeld();
      await mine.release();
      await past(1, async () => {
        expect(await theirs.read.isLocked()).toBe(true);
        expect(await ours.write.tryAcquire()).toBeNull();
      });
      const again = await ours.read.acquire({ waitMs });
      await theirs.read.unlock();
      await past(1, async () => {
        expect(await theirs.write.tryOnce()).toBe(false);
        again.assertHeld();
      });
      await again.release();
      expect(await theirs.write.tryLock({ waitMs: 5_000 })).toBe(true);
      await theirs.write.unlock();
    });

    it.concurrent("is not taken for dead while our permit is renewed, nor given back by Java's that runs out beside it", async () => {
      const theirs = await client.permitSemaphore("permits");
      const ours = locks.permitSemaphore("permits");
      expect(await ours.trySetLimit(3)).toBe(true);
      const mine = await ours.acquire({ waitMs });
      const long = await theirs.acquire({ leaseMs: 60_000 });
      const short = await theirs.acquire({ leaseMs });
      expect(await theirs.permits()).toEqual({ free: 0, taken: 3, total: 3 });
      await expect.poll(() => theirs.permits(), { timeout: 10_000 }).toEqual({ free: 1, taken: 2, total: 3 });
      expect(await theirs.tryRelease(short ?? "")).toBe(0);
      await past(2, async () => expect(await theirs.permits()).toEqual({ free: 1, taken: 2, total: 3 }));
      mine.assertHeld();
      expect(await mine.release()).toBe("released");
      await theirs.release(long ?? "");
      expect(await theirs.permits()).toEqual({ free: 3, taken: 0, total: 3 });
    });

    /** Waits until the holder has renewed: more time is left than at the look before. */
    async function untilRenewed(name: string): Promise<void> {
      const left = async () => Number(await fixture.redis.command("pttl", name));
      let before = await left();
      await expect
        .poll(async () => {
          const now = await left();
          const renewed = now > before;
          before = now;
          return renewed;
        })
        .toBe(true);
    }

    /** Calls `look` again and again for as many leases. Without renewals, the present lease would be over by then. */
    async function past(leases: number, look: () => Promise<void>): Promise<void> {
      const endMs = performance.now() + leases * leaseMs;
      do {
        await look();
        await pass(lookEveryMs);
      } while (performance.now() < endMs);
    }
  },
  { newestAlone: true },
);

function lockOf(
  client: RedissonClient,
  kind: (typeof exclusive)[number],
  name: string,
): Promise<RedissonLock> {
  return kind === "fenced" ? client.fencedLock(name) : client.lock(name, kind);
}

function watch<T>(waits: readonly Promise<T>[]): {
  readonly waits: readonly Promise<T>[];
  granted(): number;
} {
  let count = 0;
  for (const wait of waits) {
    wait.then(
      () => {
        count += 1;
      },
      () => {}, // the code that awaits it gets the error
    );
  }
  return { waits, granted: () => count };
}
