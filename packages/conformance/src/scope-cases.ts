import { AcquireTimeoutError, InvalidArgumentError } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, rejection, vainMs } from "./harness.js";

/** Cases of `withLock`. */
export const scopeCases: readonly Case[] = [
  [
    "withLock holds while the body runs and gives its value",
    async (h) => {
      const lock = h.lockOf(await h.provider(), h.name());
      const value = await lock.withLock({ label: "scope" }, async (handle) => {
        expect(handle.state).toBe("held");
        const { held } = await lock.inspect();
        expect(held.map((info) => info.owner)).toEqual([handle.owner]);
        return "value";
      });
      expect(value).toBe("value");
      expect(await lock.withLock(() => 7)).toBe(7);
      await h.untilEmpty(lock);
    },
  ],
  [
    "withLock releases when the body throws, and rejects with the body's very error",
    async (h) => {
      const lock = h.lockOf(await h.provider(), h.name());
      const own = new Error("from the body");
      const throwing = lock.withLock(() => {
        throw own;
      });
      expect(await rejection(throwing)).toBe(own);
      expect(await rejection(lock.withLock(() => Promise.reject(own)))).toBe(own);
      const handle = await lock.tryAcquire();
      expect(handle?.state).toBe("held");
      await handle?.release();
    },
  ],
  [
    "withLock does not run the body without the lock",
    async (h) => {
      const name = h.name();
      const held = await h.lockOf(await h.provider(), name).acquire();
      const lock = h.lockOf(await h.provider(), name);
      let ran = false;
      const body = () => {
        ran = true;
      };
      expect(await rejection(lock.withLock({ waitMs: vainMs }, body))).toBeInstanceOf(AcquireTimeoutError);
      expect(await rejection(lock.withLock({ signal: AbortSignal.abort("no") }, body))).toBe("no");
      expect(await rejection(lock.withLock("nothing" as never))).toBeInstanceOf(InvalidArgumentError);
      expect(ran).toBe(false);
      await held.release();
    },
  ],
  [
    "tryWithLock runs the body where the lock is free, and resolves to null without running it where it is taken",
    async (h) => {
      const name = h.name();
      const lock = h.lockOf(await h.provider(), name);
      const value = await lock.tryWithLock(async (handle) => {
        expect(handle.state).toBe("held");
        return "value";
      });
      expect(value).toBe("value");
      // `undefined` is the result of a body without a value; `null` means that another client has the lock.
      expect(await lock.tryWithLock({ label: "scope" }, () => {})).toBeUndefined();
      await h.untilEmpty(lock);
      const held = await h.lockOf(await h.provider(), name).acquire();
      let ran = false;
      const body = () => {
        ran = true;
      };
      expect(await lock.tryWithLock(body)).toBeNull();
      expect(await lock.tryWithLock({ waitMs: vainMs }, body)).toBeNull();
      expect(await rejection(lock.tryWithLock({ signal: AbortSignal.abort("no") }, body))).toBe("no");
      expect(await rejection(lock.tryWithLock("nothing" as never))).toBeInstanceOf(InvalidArgumentError);
      expect(ran).toBe(false);
      await held.release();
    },
  ],
  [
    "tryWithLock rejects with the body's very error, also when that is a time-out of another acquire",
    async (h) => {
      const lock = h.lockOf(await h.provider(), h.name());
      const own = new AcquireTimeoutError("from the body", { waitedMs: 1 });
      expect(await rejection(lock.tryWithLock(() => Promise.reject(own)))).toBe(own);
      await h.untilEmpty(lock);
    },
  ],
  [
    "the caller's abort reaches the body through its signal, and the hold lasts until the body ends",
    async (h) => {
      const lock = h.lockOf(await h.provider(), h.name());
      const controller = new AbortController();
      const value = await lock.withLock({ signal: controller.signal }, async (handle, { signal }) => {
        expect(signal.aborted).toBe(false);
        controller.abort("stop please");
        expect(signal.reason).toBe("stop please");
        expect(handle.state).toBe("held");
        expect(handle.lost.aborted).toBe(false);
        return "wound up";
      });
      expect(value).toBe("wound up");
      await h.untilEmpty(lock);
    },
  ],
  [
    "withLock reports no loss when its body releases the handle itself",
    async (h) => {
      const lock = h.lockOf(await h.provider(), h.name());
      const value = await lock.withLock(async (handle) => {
        expect(await handle.release()).toBe("released");
        return "early";
      });
      expect(value).toBe("early");
    },
  ],
];
