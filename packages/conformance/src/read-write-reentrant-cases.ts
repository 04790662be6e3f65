import {
  DeadlockError,
  type LockHandle,
  LockLostError,
  type LockProvider,
  type ReentrantReadWriteLock,
} from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection } from "./harness.js";
import { heldModes, loseHold, releaseAll } from "./read-write-support.js";

/** Cases of an owner that takes a side again which it holds, and that reads while it writes. */
export const reentrantSidesCases: readonly Case[] = [
  [
    "a writer may read: two holds with one token, each side counted by itself",
    async (h) => {
      const name = h.name();
      const lock = sides(await h.provider(), name);
      const { read, write } = lock;
      const other = sides(await h.provider(), name);
      await write.withLock(async (outer) => {
        expect([read.holdCount(), write.holdCount()]).toEqual([0, 1]);
        await read.withLock(async (inner) => {
          expect(inner).toMatchObject({ mode: "shared", token: outer.token, owner: outer.owner });
          expect([read.holdCount(), write.holdCount()]).toEqual([1, 1]);
          await read.withLock(() => expect(read.holdCount()).toBe(2));
          await write.withLock((again) => {
            expect(again).toMatchObject({ mode: "exclusive", token: outer.token });
            expect([read.holdCount(), write.holdCount()]).toEqual([1, 2]);
          });
          const { held } = await lock.inspect();
          expect(held.map((info) => info.mode).sort()).toEqual(["exclusive", "shared"]);
          expect(held.map((info) => info.owner)).toEqual([outer.owner, outer.owner]);
          expect(await other.read.tryAcquire()).toBeNull();
        });
        expect([read.holdCount(outer.owner), write.holdCount(outer.owner)]).toEqual([0, 1]);
        expect(await other.read.tryAcquire()).toBeNull();
      });
      expect([read.holdCount(), write.holdCount()]).toEqual([0, 0]);
      await h.untilEmpty(lock);
    },
  ],
  [
    "releasing the write first while the read stays is the downgrade: readers come in, a writer stays out",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = sides(provider, name);
      const other = sides(await h.provider(), name);
      const owner = { id: "job-1" };
      const write = await lock.write.acquire({ owner });
      const read = await lock.read.acquire({ owner });
      expect(read.token).toBe(write.token);
      const reading = other.read.acquire();
      await h.untilQueued(lock, 1);
      const writing = other.write.acquire();
      await h.untilQueued(lock, 2);
      const seen = follow(writing);
      expect(await write.release()).toBe("released");
      if (h.isFifo(provider)) await (await reading).release();
      await read.confirm();
      if (h.isFifo(provider)) expect(await heldModes(lock)).toEqual(["shared"]);
      expect(seen.settled).toBe(false);
      expect([lock.read.holdCount(owner), lock.write.holdCount(owner)]).toEqual([1, 0]);
      expect(await read.release()).toBe("released");
      await (await writing).release();
      await (await reading).release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "a read under a write may be given up and taken again, and still outlives the write",
    async (h) => {
      const name = h.name();
      const lock = sides(await h.provider(), name);
      const other = sides(await h.provider(), name);
      const owner = { id: "job-2" };
      const write = await lock.write.acquire({ owner });
      for (let round = 0; round < 3; round++) {
        const read = await lock.read.acquire({ owner });
        expect(read.token).toBe(write.token);
        expect((await lock.inspect()).held).toHaveLength(2);
        expect(await read.release()).toBe("released");
        await write.confirm();
        expect(await other.read.tryAcquire()).toBeNull();
      }
      const read = await lock.read.acquire({ owner });
      await write.release();
      await read.confirm();
      expect(await other.write.tryAcquire()).toBeNull();
      await read.release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "an owner that only reads is refused the write at once, by scope, by owner and after a downgrade",
    async (h) => {
      const name = h.name();
      const lock = sides(await h.provider(), name);
      const owner = { id: "job-3" };
      // Much longer than a refusal takes, so that a wait would show as a time-out.
      const waitMs = 10_000;
      const refused = async (asked: Promise<unknown>) => {
        expect(await rejection(asked)).toBeInstanceOf(DeadlockError);
        expect((await lock.inspect()).pending).toEqual([]);
      };
      const read = await lock.read.acquire({ owner });
      await refused(lock.write.acquire({ owner, waitMs }));
      expect(await lock.write.tryAcquire({ owner })).toBeNull();
      await read.release();
      await lock.read.withLock(async (outer) => {
        await refused(lock.write.withLock({ waitMs }, () => {}));
        await refused(lock.write.acquire({ owner: outer.owner, waitMs }));
        await refused(lock.write.acquire({ waitMs }));
        await lock.read.withLock(() => refused(lock.write.withLock({ waitMs }, () => {})));
      });
      const write = await lock.write.acquire({ owner });
      const kept = await lock.read.acquire({ owner });
      expect(await (await lock.write.acquire({ owner })).release()).toBe("still-held");
      await write.release();
      await refused(lock.write.acquire({ owner, waitMs }));
      await kept.release();
      await (await lock.write.acquire({ owner })).release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "an owner that asks for both sides at once gets them one after the other, or rejects with DeadlockError",
    async (h) => {
      const name = h.name();
      const held = await sides(await h.provider(), name).write.acquire();
      const lock = sides(await h.provider(), name);
      const owner = { id: "job-4" };
      const both = [lock.write.acquire({ owner }), lock.read.acquire({ owner })] as const;
      await h.untilQueued(lock, 1);
      expect(await lock.read.tryAcquire({ owner })).toBeNull();
      await held.release();
      const [write, read] = await Promise.all(both);
      expect(read).toMatchObject({ mode: "shared", token: write.token });
      await releaseAll([write, read]);
      const other = { id: "job-5" };
      const reading = lock.read.acquire({ owner: other });
      expect(await rejection(lock.write.acquire({ owner: other, waitMs: 10_000 }))).toBeInstanceOf(
        DeadlockError,
      );
      await (await reading).release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "two asks of one writer for a read at once share one hold",
    async (h) => {
      const lock = sides(await h.provider(), h.name());
      const owner = { id: "job-6" };
      const write = await lock.write.acquire({ owner });
      const reads = await Promise.all([lock.read.acquire({ owner }), lock.read.acquire({ owner })]);
      expect(lock.read.holdCount(owner)).toBe(2);
      expect((await lock.inspect()).held).toHaveLength(2);
      expect(await reads[0]?.release()).toBe("still-held");
      expect(await reads[1]?.release()).toBe("released");
      expect(await write.release()).toBe("released");
      await h.untilEmpty(lock);
    },
  ],
  [
    "siblings in a scope that writes run one at a time on both sides; in one that reads they read together",
    async (h) => {
      const lock = sides(await h.provider(), h.name());
      let inside = 0;
      let most = 0;
      const child = async () => {
        most = Math.max(most, ++inside);
        await h.pass(2);
        inside--;
      };
      await lock.write.withLock(() =>
        Promise.all([lock.read.withLock(child), lock.write.withLock(child), lock.read.withLock(child)]),
      );
      expect(most).toBe(1);
      await lock.read.withLock(() => {
        const all = [1, 2].map(() =>
          lock.read.withLock(async () => {
            inside++;
            await h.until("the other sibling", () => inside === 2);
          }),
        );
        return Promise.all(all);
      });
      await h.untilEmpty(lock);
    },
  ],
  [
    "acquire without an owner is a stranger: kept out by its own write scope with DeadlockError, not by its read scope",
    async (h) => {
      const lock = sides(await h.provider(), h.name());
      await lock.write.withLock(async (outer) => {
        expect(await rejection(lock.read.acquire())).toBeInstanceOf(DeadlockError);
        expect(await rejection(lock.write.acquire())).toBeInstanceOf(DeadlockError);
        expect(await lock.read.tryAcquire()).toBeNull();
        const read = await lock.read.acquire({ owner: outer.owner });
        expect(await read.release()).toBe("released");
      });
      await lock.read.withLock(async (outer) => {
        const stranger = await lock.read.acquire();
        expect(stranger.owner).not.toEqual(outer.owner);
        expect(lock.read.holdCount()).toBe(1);
        expect(await stranger.release()).toBe("released");
      });
      await h.untilEmpty(lock);
    },
  ],
  [
    "the same owner in two providers is two strangers on both sides",
    async (h) => {
      const name = h.name();
      const owner = { id: "job-7" };
      const lock = sides(await h.provider(), name);
      const other = sides(await h.provider(), name);
      const write = await lock.write.acquire({ owner });
      expect(await other.read.tryAcquire({ owner })).toBeNull();
      expect(await other.write.tryAcquire({ owner })).toBeNull();
      expect([other.read.holdCount(owner), other.write.holdCount(owner)]).toEqual([0, 0]);
      await write.release();
      const reads = [await lock.read.acquire({ owner }), await other.read.acquire({ owner })];
      expect((await lock.inspect()).held).toHaveLength(2);
      await releaseAll(reads);
    },
  ],
  [
    "a lost write ends its scope: a read in it rejects with the loss and does not begin anew",
    async (h) => {
      const name = h.name();
      const lock = sides(await h.provider(), name);
      const error = await rejection(
        lock.write.withLock(async (outer) => {
          await loseHold(h, outer);
          expect(await rejection(lock.read.withLock(() => "never"))).toBeInstanceOf(LockLostError);
          expect(await rejection(lock.write.withLock(() => "never"))).toBeInstanceOf(LockLostError);
          throw outer.lost.reason;
        }),
      );
      expect(error).toBeInstanceOf(LockLostError);
      await h.untilEmpty(sides(await h.provider(), name));
    },
  ],
  [
    "a read whose write is lost at the backend before it asks leaves nothing behind",
    async (h) => {
      const name = h.name();
      const lock = sides(await h.provider(), name);
      const owner = { id: "job-8" };
      const write = await lock.write.acquire({ owner });
      await h.fixture.loseHold(write);
      const asked = follow(lock.read.acquire({ owner }));
      await h.until("the read to settle", () => asked.settled);
      // If the client has noticed the loss before, the read is granted: its owner is then a reader like any other.
      if (asked.value === undefined) expect(asked.error).toBeInstanceOf(LockLostError);
      else if (write.token !== null) expect(asked.value.token).not.toBe(write.token);
      expect(write.state).toBe("lost");
      await asked.value?.release();
      await h.untilEmpty(sides(await h.provider(), name));
    },
  ],
  [
    "nothing is built on a write in doubt: a read in its scope waits until contact is back",
    async (h) => {
      const provider = await h.provider();
      const lock = sides(provider, h.name());
      await lock.write.withLock(async (outer) => {
        const cut = await h.fixture.partition(provider);
        await h.until("the write to be uncertain", () => outer.state === "uncertain");
        const states: string[] = [];
        const nested = lock.read.withLock((inner: LockHandle) => {
          states.push(inner.state);
        });
        expect(await lock.read.tryAcquire({ owner: outer.owner })).toBeNull();
        await h.pass(1);
        expect(states).toEqual([]);
        cut[Symbol.dispose]();
        await nested;
        expect(states).toEqual(["held"]);
      });
      await h.untilEmpty(lock);
    },
  ],
];

function sides(provider: LockProvider, name: string): ReentrantReadWriteLock {
  return provider.reentrantReadWriteLock(name);
}
