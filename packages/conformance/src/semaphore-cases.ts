import { AcquireTimeoutError, InvalidArgumentError, type PermitHandle } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection, vainMs } from "./harness.js";
import { stillHeld, untilAvailable } from "./semaphore-support.js";

/** Cases of permits that are taken, waited for and given back. */
export const semaphoreCases: readonly Case[] = [
  [
    "permits are granted up to the limit, over all clients, and one more waits for a release",
    async (h) => {
      const name = h.name();
      const one = (await h.provider()).semaphore(name, 3);
      const other = (await h.provider()).semaphore(name, 3);
      const held = [await one.acquire(), await one.acquire(), await other.acquire()];
      expect(await other.tryAcquire()).toBeNull();
      expect((await other.inspect()).pending).toEqual([]);
      const waiting = other.acquire();
      const seen = follow(waiting);
      await h.untilQueued(one, 1);
      expect(seen.settled).toBe(false);
      for (const handle of held) await stillHeld(handle);
      expect(await held[0]?.release()).toBe("released");
      const fourth = await waiting;
      await stillHeld(fourth);
      for (const handle of [fourth, ...held]) await handle.release();
      await untilAvailable(h, one, 3);
    },
  ],
  [
    "permits with holdAtLeastMs stay taken after their release, and the others are free",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const other = (await h.provider()).semaphore(name, 3);
      const batch = await provider.semaphore(name, 3).acquire({ permits: 2, holdAtLeastMs: 3_600_000 });
      expect(await batch.release()).toBe("still-held");
      expect(await other.tryAcquire({ permits: 2 })).toBeNull();
      const single = await other.acquire();
      expect((await other.inspect()).available).toBe(0);
      await single.release();
      expect(await provider.close()).toEqual({ released: 1, unconfirmed: [] });
      await untilAvailable(h, other, 3);
    },
  ],
  [
    "a batch is one handle, which says all about itself and has an id for each permit",
    async (h) => {
      const provider = await h.provider();
      const name = h.name();
      const semaphore = provider.semaphore(name, 5);
      const batch = await semaphore.acquire({ permits: 3, label: "batch" });
      const single = await semaphore.acquire();
      expect(batch).toMatchObject({ name, permits: 3, state: "held" });
      expect(batch.owner.label).toBe("batch");
      expect(batch.remainingMs()).toBeGreaterThan(0);
      expect(batch.token === null).toBe(provider.capabilities.fencing === "none");
      expect(batch.permitIds).toHaveLength(3);
      expect(single.permitIds).toHaveLength(1);
      expect(new Set([...batch.permitIds, ...single.permitIds]).size).toBe(4);
      batch.assertHeld();
      await batch.confirm();
      expect(provider.holds()).toHaveLength(2);
      await single.release();
      expect(await batch.release()).toBe("released");
      expect(provider.holds()).toEqual([]);
      await untilAvailable(h, semaphore, 5);
    },
  ],
  [
    "several permits are granted all or none: what is free but not enough stays free",
    async (h) => {
      const name = h.name();
      const semaphore = (await h.provider()).semaphore(name, 3);
      const other = (await h.provider()).semaphore(name, 3);
      const held = await semaphore.acquire({ permits: 2 });
      expect(await other.tryAcquire({ permits: 2 })).toBeNull();
      await untilAvailable(h, other, 1);
      const late = await rejection(other.acquire({ permits: 3, waitMs: vainMs }));
      expect(late).toBeInstanceOf(AcquireTimeoutError);
      await untilAvailable(h, other, 1);
      const last = await other.tryAcquire();
      expect(last?.state).toBe("held");
      const waiting = other.acquire({ permits: 3 });
      const seen = follow(waiting);
      await h.untilQueued(other, 1);
      await held.release();
      await h.until("the first two to be free", async () => (await other.inspect()).held.length <= 1);
      expect(seen.settled).toBe(false);
      await last?.release();
      const all = await waiting;
      expect(all.permits).toBe(3);
      expect(await semaphore.tryAcquire()).toBeNull();
      await all.release();
      await untilAvailable(h, semaphore, 3);
    },
  ],
  [
    "the release of a batch frees all of it at once",
    async (h) => {
      const name = h.name();
      const semaphore = (await h.provider()).semaphore(name, 4);
      const other = (await h.provider()).semaphore(name, 4);
      const batch = await semaphore.acquire({ permits: 4 });
      const waiting = [1, 2, 3, 4].map((i) => (i % 2 === 0 ? semaphore : other).acquire());
      await h.untilQueued(semaphore, 4);
      await batch.release();
      const handles = await Promise.all(waiting);
      for (const handle of handles) await stillHeld(handle);
      for (const handle of handles) await handle.release();
      await untilAvailable(h, semaphore, 4);
    },
  ],
  [
    "releasing twice is one release, and frees no permit of others",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const released = h.record(provider, "released", name);
      const semaphore = provider.semaphore(name, 3);
      const first = await semaphore.acquire();
      const others = [await semaphore.acquire(), await semaphore.acquire()];
      expect(await Promise.all([first.release(), first.release()])).toEqual(["released", "released"]);
      const successor = await (await h.provider()).semaphore(name, 3).acquire();
      expect(await first.release()).toBe("released");
      expect(released).toHaveLength(1);
      expect(await semaphore.tryAcquire()).toBeNull();
      for (const handle of [successor, ...others]) await stillHeld(handle);
      for (const handle of [successor, ...others]) await handle.release();
    },
  ],
  [
    "a request for many is not starved by small ones behind it, where the backend keeps the order of arrival",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const semaphore = provider.semaphore(name, 3);
      const other = (await h.provider()).semaphore(name, 3);
      const order: string[] = [];
      const held = await semaphore.acquire();
      const many = other.acquire({ permits: 3 }).then((handle) => {
        order.push("many");
        return handle;
      });
      await h.untilQueued(semaphore, 1);
      const small = semaphore.acquire().then((handle) => {
        order.push("small");
        return handle;
      });
      if (h.isFifo(provider)) {
        await h.untilQueued(semaphore, 2);
        // Two permits are free, but no acquire overtakes the larger one: neither in the queue nor by `tryAcquire`.
        expect(await other.tryAcquire()).toBeNull();
        expect(order).toEqual([]);
        await held.release();
        const all = await many;
        expect(order).toEqual(["many"]);
        await all.release();
        await (await small).release();
      } else {
        await held.release();
        await Promise.all([many, small].map(async (each) => (await each).release()));
      }
      expect([...order].sort()).toEqual(["many", "small"]);
      await untilAvailable(h, semaphore, 3);
    },
  ],
  [
    "waiters are served in the order of their arrival, where the backend promises that",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const semaphores = [provider.semaphore(name, 2), (await h.provider()).semaphore(name, 2)] as const;
      const [kept, held] = [await semaphores[0].acquire(), await semaphores[1].acquire()];
      const order: number[] = [];
      const all: Promise<void>[] = [];
      for (let i = 0; i < 5; i++) {
        const served = async (handle: PermitHandle) => {
          order.push(i);
          await handle.release();
        };
        all.push(semaphores[i % 2 === 0 ? 0 : 1].acquire().then(served));
        await h.untilQueued(semaphores[0], i + 1);
      }
      await held.release();
      await Promise.all(all);
      const expected = [0, 1, 2, 3, 4];
      if (h.isFifo(provider)) expect(order).toEqual(expected);
      else expect([...order].sort()).toEqual(expected);
      await kept.release();
    },
  ],
  [
    "time-outs and aborts leave nothing queued and nothing taken",
    async (h) => {
      const name = h.name();
      const held = await (await h.provider()).semaphore(name, 2).acquire();
      const semaphore = (await h.provider()).semaphore(name, 2);
      const tried = semaphore.tryAcquire({ permits: 2, waitMs: vainMs });
      const late = await rejection(semaphore.acquire({ permits: 2, waitMs: vainMs }));
      expect(late).toBeInstanceOf(AcquireTimeoutError);
      expect(late).toMatchObject({ lockName: name });
      expect(await tried).toBeNull();
      const controller = new AbortController();
      const aborted = rejection(semaphore.acquire({ permits: 2, signal: controller.signal }));
      await h.untilQueued(semaphore, 1);
      const reason = new Error("enough");
      controller.abort(reason);
      expect(await aborted).toBe(reason);
      expect(await rejection(semaphore.acquire({ signal: AbortSignal.abort("never") }))).toBe("never");
      await untilAvailable(h, semaphore, 1);
      await held.release();
      await untilAvailable(h, semaphore, 2);
    },
  ],
  [
    "giving up a request for many lets the small ones behind it in",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const semaphore = provider.semaphore(name, 2);
      const other = (await h.provider()).semaphore(name, 2);
      const held = await semaphore.acquire();
      const controller = new AbortController();
      const many = rejection(other.acquire({ permits: 2, signal: controller.signal }));
      await h.untilQueued(semaphore, 1);
      const small = semaphore.acquire();
      // With a queue, the small request stands behind the request for many by now. Without a queue, it has been served
      // before that one.
      if (h.isFifo(provider)) await h.untilQueued(semaphore, 2);
      controller.abort("given up");
      expect(await many).toBe("given up");
      await stillHeld(await small);
      await stillHeld(held);
      await (await small).release();
      await held.release();
      await untilAvailable(h, semaphore, 2);
    },
  ],
  [
    "wrong numbers of permits and wrong limits are refused at once, with the numbers",
    async (h) => {
      const provider = await h.provider();
      const name = h.name();
      const started = h.record(provider, "acquire-started", name);
      const semaphore = provider.semaphore(name, 2);
      for (const permits of [0, -1, 1.5, Number.NaN, Infinity, "1"]) {
        const error = await rejection(semaphore.acquire({ permits: permits as number }));
        expect(error).toBeInstanceOf(InvalidArgumentError);
        expect((error as Error).message).toMatch(/permits must be a whole number/);
      }
      const body = () => "not reached";
      for (const asked of [
        semaphore.acquire({ permits: 3 }),
        semaphore.tryAcquire({ permits: 3 }),
        semaphore.withPermit({ permits: 3 }, body),
      ]) {
        const error = await rejection(asked);
        expect(error).toBeInstanceOf(InvalidArgumentError);
        expect((error as Error).message).toMatch(/permits = 3 .*limit .* 2$/);
      }
      // A backend that only counts what is held accepts any number of permits.
      if (h.fixture.anonymous !== true) {
        const large = await rejection(provider.semaphore(name, 10_000_000).acquire({ permits: 5_000_000 }));
        expect(large).toBeInstanceOf(InvalidArgumentError);
        expect((large as Error).message).toMatch(/permits = 5000000 .*10000/);
      }
      const misspelt = rejection(semaphore.acquire({ permit: 2 } as object));
      expect(((await misspelt) as Error).message).toMatch(/did you mean permits/);
      expect(started).toEqual([]);
      for (const limit of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 31, "3", undefined]) {
        expect(() => provider.semaphore(name, limit as number)).toThrow(InvalidArgumentError);
      }
      expect(() => provider.semaphore("", 1)).toThrow(InvalidArgumentError);
      expect(await provider.semaphore(name, 2 ** 31 - 1).limit()).toBe(2 ** 31 - 1);
    },
  ],
];
