import {
  DeadlockError,
  type LockHandle,
  LockLostError,
  type LockProvider,
  type ReentrantMutex,
} from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection } from "./harness.js";

export type ReentrantMaker = (provider: LockProvider, name: string) => ReentrantMutex;

/** Cases of an owner that takes a lock again which it holds. */
export const reentrantCases = (of: ReentrantMaker): readonly Case[] => [
  [
    "a nested withLock enters the same hold: same owner and token, one hold at the backend",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = of(provider, name);
      await lock.withLock(async (outer) => {
        expect(lock.holdCount()).toBe(1);
        await of(provider, name).withLock(async (inner) => {
          expect(lock.holdCount()).toBe(2);
          expect(inner.owner).toBe(outer.owner);
          expect(inner.token).toBe(outer.token);
          const { held, pending } = await lock.inspect();
          expect(held).toHaveLength(1);
          expect(held[0]).toMatchObject({ holdCount: 2, owner: outer.owner });
          expect(pending).toEqual([]);
          expect(await inner.release()).toBe("still-held");
          expect(inner.state).toBe("released");
        });
        expect(outer.state).toBe("held");
        expect(lock.holdCount()).toBe(1);
      });
      expect(lock.holdCount()).toBe(0);
      await h.untilEmpty(lock);
    },
  ],
  [
    "siblings started together in one body are in the lock one at a time",
    async (h) => {
      const lock = of(await h.provider(), h.name());
      let inside = 0;
      let most = 0;
      const child = (depth: number): Promise<void> =>
        lock.withLock(async () => {
          most = Math.max(most, ++inside);
          await h.pass(2);
          inside--;
          if (depth > 0) await Promise.all([child(depth - 1), child(depth - 1)]);
        });
      await lock.withLock(() => Promise.all([child(1), child(1), child(0)]));
      expect(most).toBe(1);
      await h.untilEmpty(lock);
    },
  ],
  [
    "tryWithLock in a body of its own lock enters at once, and resolves to null while a sibling is in the lock",
    async (h) => {
      const lock = of(await h.provider(), h.name());
      const beside = await lock.withLock(async (outer) => {
        const inside = await lock.tryWithLock((inner) => inner.owner);
        expect(inside).toBe(outer.owner);
        let ran = false;
        const sibling = lock.withLock(async () => {
          // The call of the outer body below is made while this body is inside.
          await asked;
          return ran;
        });
        const asked = lock.tryWithLock(() => {
          ran = true;
        });
        expect(await asked).toBeNull();
        expect(await sibling).toBe(false);
        return await lock.tryWithLock(() => "alone again");
      });
      expect(beside).toBe("alone again");
      expect(lock.holdCount()).toBe(0);
      await h.untilEmpty(lock);
    },
  ],
  [
    "a task that outlives its scope is a stranger afterwards",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = of(provider, name);
      let goOn: () => void = () => {};
      const gate = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      let detached: Promise<{ owner: string }> | undefined;
      const outer = await lock.withLock(async (handle) => {
        detached = gate.then(() => lock.withLock((inner) => ({ owner: inner.owner.id })));
        return handle.owner.id;
      });
      const stranger = await h.lockOf(await h.provider(), name).acquire();
      goOn();
      await h.untilQueued(lock, 1);
      const seen = follow(detached ?? raise());
      await h.pass(1);
      expect(seen.settled).toBe(false);
      await stranger.release();
      expect((await detached)?.owner).not.toBe(outer);
      await h.untilEmpty(lock);
    },
  ],
  [
    "a sibling still queued when its scope ends goes on as a stranger",
    async (h) => {
      const lock = of(await h.provider(), h.name());
      const order: string[] = [];
      let first: Promise<void> | undefined;
      let second: Promise<void> | undefined;
      await lock.withLock(async () => {
        first = lock.withLock(async () => {
          await h.pass(20);
          order.push("first");
        });
        second = lock.withLock(async () => {
          order.push("second");
        });
        await h.pass(1);
      });
      await Promise.all([first, second]);
      expect(order).toEqual(["first", "second"]);
      await h.untilEmpty(lock);
    },
  ],
  [
    "acquire inside the own scope would wait for itself and rejects with DeadlockError",
    async (h) => {
      const provider = await h.provider();
      const name = h.name();
      const lock = of(provider, name);
      await lock.withLock(async (handle) => {
        expect(await rejection(lock.acquire())).toBeInstanceOf(DeadlockError);
        expect(await rejection(provider.mutex(name).acquire())).toBeInstanceOf(DeadlockError);
        expect(await rejection(lock.withLock({ owner: { id: "other" } }, () => {}))).toBeInstanceOf(
          DeadlockError,
        );
        expect(await lock.tryAcquire()).toBeNull();
        const again = await lock.acquire({ owner: handle.owner });
        expect(await again.release()).toBe("still-held");
      });
      await provider.mutex(name).withLock(async () => {
        expect(await rejection(lock.withLock(() => {}))).toBeInstanceOf(DeadlockError);
      });
      await h.untilEmpty(lock);
    },
  ],
  [
    "an explicit owner enters again without a scope, also when asking twice at once",
    async (h) => {
      const provider = await h.provider();
      const lock = of(provider, h.name());
      const owner = { id: "job-7" };
      const [first, second] = await Promise.all([lock.acquire({ owner }), lock.acquire({ owner })]);
      expect(lock.holdCount(owner)).toBe(2);
      expect(second.token).toBe(first.token);
      expect((await lock.inspect()).held).toHaveLength(1);
      expect(await lock.tryAcquire({ owner: { id: "job-8" } })).toBeNull();
      expect(await first.release()).toBe("still-held");
      expect(second.state).toBe("held");
      expect(await second.release()).toBe("released");
      expect(lock.holdCount(owner)).toBe(0);
      await h.untilEmpty(lock);
    },
  ],
  [
    "when the first of two asks of one owner gives up, the other goes on by itself",
    async (h) => {
      const name = h.name();
      const held = await h.lockOf(await h.provider(), name).acquire();
      const lock = of(await h.provider(), name);
      const owner = { id: "job-9" };
      const controller = new AbortController();
      const first = rejection(lock.acquire({ owner, signal: controller.signal }));
      const second = lock.acquire({ owner });
      await h.untilQueued(lock, 1);
      controller.abort("first gives up");
      expect(await first).toBe("first gives up");
      await h.untilQueued(lock, 1);
      await held.release();
      await (await second).release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "the same owner in two providers is two strangers",
    async (h) => {
      const name = h.name();
      const owner = { id: "job-7" };
      const handle = await of(await h.provider(), name).acquire({ owner });
      const other = of(await h.provider(), name);
      expect(await other.tryAcquire({ owner })).toBeNull();
      expect(other.holdCount(owner)).toBe(0);
      const waiting = other.acquire({ owner });
      await h.untilQueued(other, 1);
      await handle.release();
      await (await waiting).release();
    },
  ],
  [
    "the hold stays until its last handle goes, whichever that is",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = of(provider, name);
      const outer = await lock.acquire();
      const inner = await lock.acquire({ owner: outer.owner });
      expect(await outer.release()).toBe("still-held");
      expect(inner.state).toBe("held");
      expect(provider.holds()).toEqual([inner]);
      await inner.confirm();
      expect(await h.lockOf(await h.provider(), name).tryAcquire()).toBeNull();
      expect(await inner.release()).toBe("released");
    },
  ],
  [
    "a loss ends all handles of the hold, and a nested withLock rejects with it",
    async (h) => {
      const lock = of(await h.provider(), h.name());
      const error = await rejection(
        lock.withLock(async (outer) => {
          const inner = await lock.acquire({ owner: outer.owner });
          const signals = [outer.lost, inner.lost];
          await h.fixture.loseHold(outer);
          for (const signal of signals) await h.untilAborted("both handles to hear", signal);
          expect(await rejection(lock.withLock(() => "never"))).toBeInstanceOf(LockLostError);
          expect(await inner.release()).toBe("lost");
          throw outer.lost.reason;
        }),
      );
      expect(error).toBeInstanceOf(LockLostError);
      expect(error).not.toHaveProperty("value");
    },
  ],
  [
    "an owner that released, or lost, and asks again gets a new hold",
    async (h) => {
      const lock = of(await h.provider(), h.name());
      const owner = { id: "job-10" };
      const first = await lock.acquire({ owner });
      await first.release();
      const second = await lock.acquire({ owner });
      await h.fixture.loseHold(second);
      await h.untilAborted("the loss to be heard", second.lost);
      expect(lock.holdCount(owner)).toBe(0);
      const third = await lock.acquire({ owner });
      expect(third.state).toBe("held");
      if (first.token !== null && second.token !== null) {
        expect(second.token).toBeGreaterThan(first.token);
        expect(third.token).toBeGreaterThan(second.token);
      }
      expect(await third.release()).toBe("released");
    },
  ],
  [
    "nothing is built on an uncertain hold: a nested withLock waits until contact is back",
    async (h) => {
      const provider = await h.provider();
      const lock = of(provider, h.name());
      await lock.withLock(async (outer) => {
        const cut = await h.fixture.partition(provider);
        await h.until("the hold to be uncertain", () => outer.state === "uncertain");
        const states: string[] = [];
        const nested = lock.withLock((inner: LockHandle) => {
          states.push(inner.state);
        });
        const again = lock.acquire({ owner: outer.owner });
        await h.pass(1);
        expect(states).toEqual([]);
        cut[Symbol.dispose]();
        await nested;
        expect(states).toEqual(["held"]);
        expect(await (await again).release()).toBe("still-held");
      });
    },
  ],
  [
    "waiting for a sibling can be aborted and timed out",
    async (h) => {
      const lock = of(await h.provider(), h.name());
      await lock.withLock(async () => {
        let leave: () => void = () => {};
        const first = lock.withLock(() => new Promise<void>((resolve) => (leave = resolve)));
        const controller = new AbortController();
        const second = rejection(lock.withLock({ signal: controller.signal }, () => {}));
        expect(await rejection(lock.withLock({ waitMs: 20 }, () => {}))).toMatchObject({
          code: "HF_ACQUIRE_TIMEOUT",
        });
        controller.abort("no patience");
        expect(await second).toBe("no patience");
        leave();
        await first;
        expect(await lock.withLock(() => "free again")).toBe("free again");
      });
      await h.untilEmpty(lock);
    },
  ],
];

function raise(): never {
  throw new Error("the body did not run");
}
