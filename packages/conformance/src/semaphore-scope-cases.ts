import {
  AcquireTimeoutError,
  InvalidArgumentError,
  LockLostError,
  ProviderClosedError,
} from "@holdfast/core";
import { expect } from "vitest";
import { type Case, rejection, vainMs } from "./harness.js";
import { losePermits, stillHeld, untilAvailable } from "./semaphore-support.js";

/** Cases of bodies, losses, `inspect`, and closing. */
export const semaphoreScopeCases: readonly Case[] = [
  [
    "withPermit holds its permits while the body runs, and gives the body's value or its very error",
    async (h) => {
      const semaphore = (await h.provider()).semaphore(h.name(), 3);
      const value = await semaphore.withPermit({ permits: 2, label: "scope" }, async (permit) => {
        expect(permit).toMatchObject({ state: "held", permits: 2 });
        const { held } = await semaphore.inspect();
        expect(held.map((info) => info.owner)).toEqual([permit.owner, permit.owner]);
        return "value";
      });
      expect(value).toBe("value");
      await untilAvailable(h, semaphore, 3);
      const own = new Error("from the body");
      const throwing = semaphore.withPermit({ permits: 3 }, () => {
        throw own;
      });
      expect(await rejection(throwing)).toBe(own);
      expect(await rejection(semaphore.withPermit({}, () => Promise.reject(own)))).toBe(own);
      await untilAvailable(h, semaphore, 3);
    },
  ],
  [
    "withPermit does not run the body without permits",
    async (h) => {
      const name = h.name();
      const held = await (await h.provider()).semaphore(name, 1).acquire();
      const semaphore = (await h.provider()).semaphore(name, 1);
      let ran = false;
      const body = () => {
        ran = true;
      };
      const late = rejection(semaphore.withPermit({ waitMs: vainMs }, body));
      expect(await late).toBeInstanceOf(AcquireTimeoutError);
      expect(await rejection(semaphore.withPermit({ signal: AbortSignal.abort("no") }, body))).toBe("no");
      expect(await rejection(semaphore.withPermit({}, "no body" as never))).toBeInstanceOf(
        InvalidArgumentError,
      );
      expect(ran).toBe(false);
      await held.release();
    },
  ],
  [
    "withPermit and tryWithPermit take one permit without options, and tryWithPermit resolves to null where none is free",
    async (h) => {
      const semaphore = (await h.provider()).semaphore(h.name(), 2);
      let ran = false;
      const body = () => {
        ran = true;
      };
      const taken = await semaphore.withPermit(() =>
        semaphore.tryWithPermit(async () => {
          expect(await semaphore.tryWithPermit(body)).toBeNull();
          expect(await semaphore.tryWithPermit({ waitMs: vainMs }, body)).toBeNull();
          return "both";
        }),
      );
      expect(taken).toBe("both");
      for (const wrong of [
        semaphore.tryWithPermit({ permits: 3 }, body),
        semaphore.tryWithPermit("no" as never),
      ])
        expect(await rejection(wrong)).toBeInstanceOf(InvalidArgumentError);
      expect(ran).toBe(false);
      await untilAvailable(h, semaphore, 2);
    },
  ],
  [
    "a body may take more permits of its own semaphore",
    async (h) => {
      const provider = await h.provider();
      // From here on scopes are tracked, and a mutex would find a deadlock in the calls below.
      if (provider.capabilities.primitives.has("reentrant-mutex")) provider.reentrantMutex(h.name());
      const semaphore = provider.semaphore(h.name(), 2);
      const available = await semaphore.withPermit({}, () =>
        semaphore.withPermit({ waitMs: 60_000 }, async () => (await semaphore.inspect()).available),
      );
      expect(available).toBe(0);
      await untilAvailable(h, semaphore, 2);
    },
  ],
  [
    "the caller's abort reaches the body of withPermit, and the permits stay until the body ends",
    async (h) => {
      const semaphore = (await h.provider()).semaphore(h.name(), 1);
      const controller = new AbortController();
      const { signal: given } = controller;
      const value = await semaphore.withPermit({ signal: given }, async (permit, { signal }) => {
        controller.abort("stop please");
        expect(signal.reason).toBe("stop please");
        await stillHeld(permit);
        return "wound up";
      });
      expect(value).toBe("wound up");
      await untilAvailable(h, semaphore, 1);
    },
  ],
  [
    "a lost batch says so, once, and all of its permits go to those who wait",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const events = h.record(provider, "lost", name);
      const batch = await provider.semaphore(name, 2).acquire({ permits: 2 });
      const other = (await h.provider()).semaphore(name, 2);
      const waiting = other.acquire({ permits: 2 });
      await h.untilQueued(other, 1);
      await losePermits(h, batch);
      expect(batch.state).toBe("lost");
      expect(batch.lost.reason).toBeInstanceOf(LockLostError);
      expect(() => batch.assertHeld()).toThrow(LockLostError);
      expect(events).toHaveLength(1);
      const successor = await waiting;
      expect(await batch.release()).toBe("lost");
      await stillHeld(successor);
      await successor.release();
      await untilAvailable(h, other, 2);
    },
  ],
  [
    "the loss of one client's permits leaves another's alone",
    async (h) => {
      const name = h.name();
      const victim = await (await h.provider()).semaphore(name, 3).acquire({ permits: 2 });
      const other = (await h.provider()).semaphore(name, 3);
      const kept = await other.acquire();
      await losePermits(h, victim);
      await stillHeld(kept);
      await untilAvailable(h, other, 2);
      expect(await other.tryAcquire({ permits: 2 })).not.toBeNull();
      expect(await other.tryAcquire()).toBeNull();
    },
  ],
  [
    "a loss while a body of withPermit runs aborts its signal; its value comes with the error, or alone if asked so",
    async (h) => {
      const provider = await h.provider();
      const error = await rejection(
        provider.semaphore(h.name(), 2).withPermit({}, async (permit, { signal }) => {
          await losePermits(h, permit);
          await h.untilAborted("the body's signal", signal);
          return "done all the same";
        }),
      );
      expect(error).toBeInstanceOf(LockLostError);
      expect(error).toMatchObject({ value: "done all the same" });
      const again = provider.semaphore(h.name(), 2);
      const ignoring = again.withPermit({ onLoss: "ignore" }, async (permit) => {
        await losePermits(h, permit);
        return 42;
      });
      expect(await ignoring).toBe(42);
    },
  ],
  [
    "a holder and a waiter come through a short cut",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const semaphore = provider.semaphore(name, 2);
      const other = (await h.provider()).semaphore(name, 2);
      const held = await semaphore.acquire();
      const theirs = await other.acquire();
      const waiting = semaphore.acquire();
      await h.untilQueued(other, 1);
      const cut = await h.fixture.partition(provider);
      await h.until("the hold to be uncertain", () => held.state === "uncertain");
      cut[Symbol.dispose]();
      await h.until("the hold to be certain again", () => held.state === "held");
      await theirs.release();
      const granted = await waiting;
      await stillHeld(granted);
      await stillHeld(held);
      await granted.release();
      await held.release();
      await untilAvailable(h, other, 2);
    },
  ],
  [
    "inspect shows each permit held, what is left, and the queue, from both sides; limit() gives the limit",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const semaphore = provider.semaphore(name, 4);
      const other = (await h.provider()).semaphore(name, 4);
      expect(await semaphore.limit()).toBe(4);
      const free = { name, kind: null, limit: 4, available: 4, held: [], pending: [] };
      expect(await semaphore.inspect()).toMatchObject(free);
      const batch = await semaphore.acquire({ permits: 2, label: "batch" });
      const single = await other.acquire();
      const abort = new AbortController();
      const waiting = [1, 2].map(() => rejection(other.acquire({ permits: 2, signal: abort.signal })));
      await h.untilQueued(semaphore, 2);
      const seen = await semaphore.inspect();
      expect(seen).toMatchObject({ limit: 4, available: 1, pendingTotal: h.showsWaiters ? 2 : null });
      expect(seen.held.map((info) => info.mode)).toEqual(["shared", "shared", "shared"]);
      const ours = seen.held.filter((info) => info.heldByThisProvider);
      expect(ours.map((info) => info.backendId).sort()).toEqual([...batch.permitIds].sort());
      for (const info of ours) {
        expect(info).toMatchObject({ owner: batch.owner, label: "batch", token: batch.token });
      }
      const theirs = seen.held.filter((info) => !info.heldByThisProvider);
      expect(theirs).toHaveLength(1);
      if (h.fixture.anonymous !== true) expect(theirs[0]?.backendId).toBe(single.permitIds[0]);
      expect(theirs[0]?.owner).toBeNull();
      const bounded = await other.inspect({ maxPending: 1 });
      if (h.showsWaiters) expect(bounded.pending).toHaveLength(1);
      expect(bounded.pendingTotal).toBe(seen.pendingTotal);
      abort.abort();
      await Promise.all(waiting);
      await batch.release();
      await single.release();
      await untilAvailable(h, semaphore, 4);
    },
  ],
  [
    "close notifies holders, rejects waiters, frees all permits, and takes no new work",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const semaphore = provider.semaphore(name, 3);
      const batch = await semaphore.acquire({ permits: 2 });
      const single = await semaphore.acquire();
      const { lost } = batch;
      const waiting = rejection(semaphore.acquire());
      await h.untilQueued(semaphore, 1);
      expect(await provider.close()).toEqual({ released: 2, unconfirmed: [] });
      expect(await waiting).toBeInstanceOf(ProviderClosedError);
      expect(lost.reason).toMatchObject({ code: "HF_LOCK_LOST", reason: "provider-closed" });
      expect(await single.release()).toBe("lost");
      for (const refused of [semaphore.acquire(), semaphore.limit(), semaphore.inspect()]) {
        expect(await rejection(refused)).toBeInstanceOf(ProviderClosedError);
      }
      const all = await (await h.provider()).semaphore(name, 3).acquire({ permits: 3 });
      await all.release();
    },
  ],
];
