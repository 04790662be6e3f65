import { expect } from "vitest";
import { type Case, follow, rejection } from "./harness.js";

/** Cases of `close({ graceMs })`. */
export const graceCases: readonly Case[] = [
  [
    "close with graceMs refuses new work and waiters at once, and ends when the last holder has released",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      const other = h.lockOf(provider, h.name());
      const handles = [await lock.acquire(), await other.acquire()];
      const waiting = rejection(lock.acquire());
      await h.untilQueued(lock, 1);
      const closing = provider.close({ graceMs: 3_600_000 });
      const closed = follow(closing);
      expect(await waiting).toMatchObject({ code: "HF_PROVIDER_CLOSED" });
      expect(await rejection(lock.acquire())).toMatchObject({ code: "HF_PROVIDER_CLOSED" });
      expect(await rejection(lock.tryAcquire())).toMatchObject({ code: "HF_PROVIDER_CLOSED" });
      expect(await rejection(provider.ready())).toMatchObject({ code: "HF_PROVIDER_CLOSED" });
      for (const handle of handles) {
        await handle.confirm();
        expect(handle.state).toBe("held");
        expect(handle.lost.aborted).toBe(false);
        expect(closed.settled).toBe(false);
        expect(await handle.release()).toBe("released");
      }
      expect(await closing).toEqual({ released: 0, unconfirmed: [] });
      expect(provider.state).toBe("closed");
      await h.untilEmpty(h.lockOf(await h.provider(), name));
    },
  ],
  [
    "a holder that is not done when the grace is over loses its hold; a later close can only shorten the grace",
    async (h) => {
      const name = h.name();
      for (const end of [{ graceMs: 30 }, {}]) {
        const provider = await h.provider();
        const handle = await h.lockOf(provider, name).acquire();
        const closing = provider.close({ graceMs: 3_600_000 });
        await handle.confirm();
        expect(provider.close(end)).toBe(closing);
        expect(provider.close({ graceMs: 3_600_000 })).toBe(closing);
        expect(await closing).toEqual({ released: 1, unconfirmed: [] });
        expect(handle.lost.reason).toMatchObject({ reason: "provider-closed" });
        expect(await handle.release()).toBe("lost");
      }
    },
  ],
];
