import { HoldfastError, LockLostError, type LockProvider, type Mutex } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, type Harness, rejection } from "./harness.js";

/**
 * Acquires and releases by the same provider until the lock is kept. The provider may first have to subscribe to the lock's
 * messages.
 */
async function keep(h: Harness, lock: Mutex): Promise<void> {
  await h.until(`pairs until ${lock.name} is kept`, async () => {
    const handle = await lock.acquire();
    // The hold lasts longer than the round trip of the release before it.
    await h.pass(1);
    const outcome = await handle.release();
    expect(["kept", "released"]).toContain(outcome);
    return outcome === "kept";
  });
}

/**
 * Tests what a backend that keeps locks must do. The fixture's providers have `keepingOptions`.
 */
export const keepingCases: readonly Case[] = [
  [
    "a lock that one provider takes again and again is kept, and lent without a request",
    async (h) => {
      const provider = await h.provider();
      const lock = h.lockOf(provider, h.name());
      const settled = h.record(provider, "acquire-settled", lock.name);
      await keep(h, lock);
      let before = { token: 0n, turn: -1 };
      for (let pair = 0; pair < 50; pair++) {
        const handle = await lock.acquire();
        expect(handle.state).toBe("held");
        const own = { token: handle.token ?? 0n, turn: handle.turn };
        // A resource refuses what is below the highest pair that it has seen.
        if (own.token === before.token) expect(own.turn).toBeGreaterThan(before.turn);
        else expect(own.token).toBeGreaterThan(before.token);
        before = own;
        expect(await handle.release()).toBe("kept");
      }
      expect(settled.slice(-50).map(({ kept, roundTrips }) => [kept, roundTrips])).toEqual(
        Array.from({ length: 50 }, () => [true, 0]),
      );
      expect(provider.kept()).toMatchObject([{ name: lock.name, lent: false, lends: 50 }]);
      expect(provider.holds()).toEqual([]);
    },
  ],
  [
    "another client that asks for a kept lock gets it at once, in the queue's order and with a higher token",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      const other = h.lockOf(await h.provider(), name);
      const ended = h.record(provider, "keeping-ended", name);
      await keep(h, lock);
      const mine = await lock.acquire();
      const token = mine.token ?? 0n;
      const waiting = other.acquire();
      const seen = follow(waiting);
      await h.untilQueued(other, 1);
      expect(seen.settled).toBe(false);
      await mine.release();
      const theirs = await waiting;
      expect(theirs.turn).toBe(0);
      if (theirs.token !== null) expect(theirs.token > token).toBe(true);
      expect(ended.map(({ reason }) => reason)).toEqual(["wanted"]);
      await theirs.release();
      // The lock is kept again only after two grants in a row.
      const next = await lock.acquire();
      expect(await next.release()).toBe("released");
    },
  ],
  [
    "an idle kept lock goes to another client that waits",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      await keep(h, h.lockOf(provider, name));
      const handle = await h.lockOf(await h.provider(), name).acquire();
      expect(provider.kept()).toEqual([]);
      expect(await handle.release()).toBe("released");
    },
  ],
  [
    "an idle kept lock goes to another client that asks once, and to one that waits for a time",
    async (h) => {
      for (const ask of [
        (other: Mutex) => other.tryAcquire(),
        (other: Mutex) => other.tryAcquire({ waitMs: 20_000 }),
      ]) {
        const name = h.name();
        const provider = await h.provider();
        await keep(h, h.lockOf(provider, name));
        const handle = await ask(h.lockOf(await h.provider(), name));
        expect(handle).not.toBeNull();
        expect(provider.kept()).toEqual([]);
        expect(await handle?.release()).toBe("released");
      }
    },
  ],
  [
    "a call that asks once is refused while the kept lock has an owner, and the next owner has to ask the backend",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      const other = h.lockOf(await h.provider(), name);
      await keep(h, lock);
      const holder = await lock.acquire();
      expect(await other.tryAcquire()).toBeNull();
      expect(holder.state).toBe("held");
      expect(await holder.release()).toBe("released");
      const settled = h.record(provider, "acquire-settled", lock.name);
      await lock.acquire();
      expect(settled).toMatchObject([{ kept: false }]);
    },
  ],
  [
    "inspect shows an idle kept lock as held for no owner, and a lent one as held",
    async (h) => {
      const provider = await h.provider();
      const lock = h.lockOf(provider, h.name());
      const other = h.lockOf(await h.provider(), lock.name);
      await keep(h, lock);
      expect((await lock.inspect()).held).toMatchObject([
        { kept: true, owner: null, holdCount: 0, heldByThisProvider: true },
      ]);
      expect((await other.inspect()).held).toMatchObject([{ kept: null, heldByThisProvider: false }]);
      const handle = await lock.acquire();
      expect((await lock.inspect()).held).toMatchObject([
        { kept: false, owner: handle.owner, holdCount: 1, heldByThisProvider: true },
      ]);
      await handle.release();
    },
  ],
  [
    "fresh: true gets a grant of its own, and keep: false gives the lock back",
    async (h) => {
      const provider = await h.provider();
      const lock = h.lockOf(provider, h.name());
      await keep(h, lock);
      const settled = h.record(provider, "acquire-settled", lock.name);
      const fresh = await lock.acquire({ fresh: true });
      expect(settled).toMatchObject([{ kept: false }]);
      expect(await fresh.release({ keep: false })).toBe("released");
      await h.untilEmpty(lock);
      expect(provider.kept()).toEqual([]);
    },
  ],
  [
    "requestRevoke() ends an idle keeping, and reaches the present owner of a lent one but not the next",
    async (h) => {
      const provider = await h.provider();
      const lock = h.lockOf(provider, h.name());
      const other = h.lockOf(await h.provider(), lock.name);
      await keep(h, lock);
      expect(await other.requestRevoke()).toBe(true);
      await h.until("the keeping to end", () => provider.kept().length === 0);
      await keep(h, lock);
      const asked = await lock.acquire({ revocable: true });
      const { revokeRequested } = asked;
      expect(provider.kept()).toMatchObject([{ lent: true, lends: 1 }]);
      await other.requestRevoke();
      await h.untilAborted("the owner to be asked", revokeRequested);
      expect(await asked.release()).toBe("released");
      await lock.acquire();
      expect(provider.kept()).toEqual([]);
    },
  ],
  [
    "an owner whose lent hold is lost hears it, and the lock is not kept on",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      await keep(h, lock);
      const handle = await lock.acquire();
      expect(provider.kept()).toMatchObject([{ lent: true }]);
      const { lost } = handle;
      const waiting = lock.acquire();
      await h.fixture.loseHold(handle);
      await h.untilAborted("the owner to hear of its loss", lost);
      expect(lost.reason).toBeInstanceOf(LockLostError);
      expect(await handle.release()).toBe("lost");
      const next = await waiting;
      expect(provider.kept()).toEqual([]);
      await next.release();
    },
  ],
  [
    "an idle kept lock that another client got after a loss is not lent any more",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      await keep(h, lock);
      // Where a session keeps all holds of a provider, the loss of another hold is also the end of the idle lock.
      const lostToo = await h.lockOf(provider, h.name()).acquire();
      const { lost } = lostToo;
      await h.fixture.loseHold(lostToo);
      // A backend may not tell of the loss before it is asked.
      expect(await rejection(lostToo.confirm())).toBeInstanceOf(HoldfastError);
      await h.untilAborted("the loss to be heard", lost);
      const next = await h.lockOf(await h.provider(), name).acquire();
      expect(await lock.tryAcquire()).toBeNull();
      expect(provider.kept()).toEqual([]);
      await next.confirm();
      expect(await next.release()).toBe("released");
    },
  ],
  [
    "nothing is lent while contact is broken, nor what was kept before it broke",
    async (h) => {
      const provider = await h.provider();
      const lock = h.lockOf(provider, h.name());
      const ended = h.record(provider, "keeping-ended", lock.name);
      await keep(h, lock);
      {
        using _ = await h.fixture.partition(provider);
        await h.until("contact to break", () => provider.state !== "connected");
        expect(provider.kept()).toEqual([]);
        expect(ended.map(({ reason }) => reason)).toEqual(["lost"]);
      }
      const settled = h.record(provider, "acquire-settled", lock.name);
      const handle = await lock.acquire();
      expect(settled).toMatchObject([{ kept: false }]);
      await handle.release();
    },
  ],
  [
    "a hold over which contact broke is not kept, also when it has stood all the time",
    async (h) => {
      const provider = await h.provider();
      const lock = h.lockOf(provider, h.name());
      await keep(h, lock);
      const handle = await lock.acquire();
      const { lost } = handle;
      const recovered = h.record(provider, "recovered", lock.name);
      {
        using _ = await h.fixture.partition(provider);
        await h.until("contact to break", () => handle.state !== "held");
      }
      await h.until("the hold to recover or to end", () => recovered.length > 0 || lost.aborted);
      expect(["released", "lost"]).toContain(await handle.release());
      expect(provider.kept()).toEqual([]);
    },
  ],
  [
    "close() gives what is kept back, and does not count it",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const other = h.lockOf(await h.provider(), name);
      await keep(h, h.lockOf(provider, name));
      expect(await provider.close()).toEqual({ released: 0, unconfirmed: [] });
      await h.untilEmpty(other);
    },
  ],
  [
    "owners of one provider get a kept lock in the order in which they asked, and never two at once",
    async (h) => {
      const provider = await h.provider();
      const lock = h.lockOf(provider, h.name());
      await keep(h, lock);
      const order: number[] = [];
      let inside = 0;
      await Promise.all(
        Array.from({ length: 20 }, async (_, number) => {
          const handle = await lock.acquire();
          inside++;
          expect(inside).toBe(1);
          order.push(number);
          await Promise.resolve();
          inside--;
          await handle.release();
        }),
      );
      expect(order).toEqual([...order].sort((a, b) => a - b));
      expect(provider.kept()).toMatchObject([{ lends: 20 }]);
    },
  ],
];

/** What a read-write lock adds: its write side is kept, and a request for its read side counts as a wish. */
export const keepingReadWriteCases = (
  sidesOf: (provider: LockProvider, name: string) => { read: Mutex; write: Mutex },
): readonly Case[] => [
  [
    "a kept write is given back for a read of its own provider and for one of another",
    async (h) => {
      for (const own of [true, false]) {
        const name = h.name();
        const provider = await h.provider();
        const { write } = sidesOf(provider, name);
        await keep(h, write);
        const { read } = sidesOf(own ? provider : await h.provider(), name);
        const handle = await read.acquire();
        expect(handle).toMatchObject({ mode: "shared", turn: 0 });
        expect(provider.kept()).toEqual([]);
        expect(await handle.release()).toBe("released");
      }
    },
  ],
];
