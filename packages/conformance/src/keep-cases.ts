import { LockLostError } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow } from "./harness.js";

/** Cases of `holdAtLeastMs`: the lock stays taken for a time although its holder has released it. */
export const keepCases: readonly Case[] = [
  [
    "a lock with holdAtLeastMs stays taken after its release, for its own client too, until close ends it",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      const other = h.lockOf(await h.provider(), name);
      const released = h.record(provider, "released", name);
      const lost = h.record(provider, "lost", name);
      const handle = await lock.acquire({ holdAtLeastMs: 3_600_000 });
      expect(await handle.release()).toBe("still-held");
      expect(await handle.release()).toBe("still-held");
      expect(handle.state).toBe("released");
      expect(handle.lost.aborted).toBe(false);
      expect(provider.holds()).toEqual([]);
      expect(await lock.tryAcquire()).toBeNull();
      const { held } = await lock.inspect();
      expect(held[0]).toMatchObject({ heldByThisProvider: true, owner: handle.owner });
      const waiting = other.acquire();
      const seen = follow(waiting);
      await h.untilQueued(other, 1);
      expect(seen.settled).toBe(false);
      // A grace does not wait for the time of `holdAtLeastMs` to pass.
      expect(await provider.close({ graceMs: 3_600_000 })).toEqual({ released: 1, unconfirmed: [] });
      await (await waiting).release();
      expect(released.map((event) => event.outcome)).toEqual(["still-held"]);
      expect(lost).toEqual([]);
      await h.untilEmpty(other);
    },
  ],
  [
    "when holdAtLeastMs is over the lock goes to the next in the queue",
    async (h) => {
      const name = h.name();
      const lock = h.lockOf(await h.provider(), name);
      const other = h.lockOf(await h.provider(), name);
      const holdAtLeastMs = 400;
      const startedMs = h.runtime.nowMs();
      const handle = await lock.acquire({ holdAtLeastMs });
      expect(await handle.release()).toBe("still-held");
      const next = await other.acquire();
      expect(h.runtime.nowMs() - startedMs).toBeGreaterThanOrEqual(holdAtLeastMs);
      if (next.token !== null) expect(next.token > (handle.token ?? 0n)).toBe(true);
      await next.release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "a holder that is done after holdAtLeastMs releases at once",
    async (h) => {
      const lock = h.lockOf(await h.provider(), h.name());
      const handle = await lock.acquire({ holdAtLeastMs: 20 });
      await h.pass(25);
      expect(await handle.release()).toBe("released");
      await h.untilEmpty(lock);
    },
  ],
  [
    "withLock with holdAtLeastMs gives the value or the error of its body at once, and the lock stays taken after both",
    async (h) => {
      const own = new Error("from the body");
      const provider = await h.provider();
      const other = await h.provider();
      for (const body of [() => 7, () => Promise.reject(own)]) {
        const name = h.name();
        const outcome = await h
          .lockOf(provider, name)
          .withLock({ holdAtLeastMs: 60_000 }, body)
          .catch((error) => error);
        expect([7, own]).toContain(outcome);
        expect(await h.lockOf(other, name).tryAcquire()).toBeNull();
      }
      expect(await provider.close()).toEqual({ released: 2, unconfirmed: [] });
    },
  ],
  [
    "a hold that is lost before holdAtLeastMs has passed is lost, and is not kept",
    async (h) => {
      const name = h.name();
      const handle = await h.lockOf(await h.provider(), name).acquire({ holdAtLeastMs: 3_600_000 });
      const { lost } = handle;
      await h.fixture.loseHold(handle);
      await h.untilAborted("the holder to hear of its loss", lost);
      expect(lost.reason).toBeInstanceOf(LockLostError);
      expect(await handle.release()).toBe("lost");
      await (await h.lockOf(await h.provider(), name).acquire()).release();
    },
  ],
];
