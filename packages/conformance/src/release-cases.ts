import { NotHeldError } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection } from "./harness.js";

/** Cases of releases. */
export const releaseCases: readonly Case[] = [
  [
    "a released handle holds nothing and was not lost",
    async (h) => {
      const handle = await h.lockOf(await h.provider(), h.name()).acquire();
      await handle.release();
      expect(handle.state).toBe("released");
      expect(handle.remainingMs()).toBe(0);
      expect(handle.lost.aborted).toBe(false);
      expect(() => handle.assertHeld()).toThrow(NotHeldError);
      expect(await rejection(handle.confirm())).toBeInstanceOf(NotHeldError);
    },
  ],
  [
    "releasing twice, also at once, is one release with one outcome, and hurts no successor",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const events = h.record(provider, "released", name);
      const handle = await h.lockOf(provider, name).acquire();
      expect(await Promise.all([handle.release(), handle.release()])).toEqual(["released", "released"]);
      const successor = await h.lockOf(await h.provider(), name).acquire();
      expect(await handle.release()).toBe("released");
      await successor.confirm();
      expect(successor.state).toBe("held");
      expect(events.map((event) => event.outcome)).toEqual(["released"]);
      await successor.release();
    },
  ],
  [
    "leaving a scope of await using releases",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const handle = await h.lockOf(provider, name).acquire();
      await handle[Symbol.asyncDispose]();
      expect(handle.state).toBe("released");
      await h.untilEmpty(h.lockOf(provider, name));
    },
  ],
  [
    "assertHeld with a minimum looks at the time that is left",
    async (h) => {
      const handle = await h.lockOf(await h.provider(), h.name()).acquire();
      handle.assertHeld(1);
      expect(() => handle.assertHeld(handle.remainingMs() + 60_000)).toThrow(NotHeldError);
      expect(handle.state).toBe("held");
      await handle.release();
    },
  ],
  [
    "a release without an answer settles as unconfirmed, goes on in the background, and does not hold up the next acquire",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const failed = h.record(provider, "release-failed", name);
      const lock = h.lockOf(provider, name);
      const handle = await lock.acquire(h.longLease(provider));
      const cut = await h.fixture.partition(provider);
      const controller = new AbortController();
      const release = follow(handle.release({ signal: controller.signal }));
      expect(handle.state).toBe("released");
      controller.abort();
      await h.until("the release to settle", () => release.settled);
      expect(release.value).toBe("unconfirmed");
      expect(failed.map((event) => event.reason)).toEqual(["unconfirmed"]);
      cut[Symbol.dispose]();
      const next = await lock.acquire({ waitMs: 20_000 });
      expect(next.state).toBe("held");
      await next.release();
      await h.untilEmpty(h.lockOf(await h.provider(), name));
    },
  ],
  [
    "each acquire and each end of a hold emits its events",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const started = h.record(provider, "acquire-started", name);
      const settled = h.record(provider, "acquire-settled", name);
      const released = h.record(provider, "released", name);
      const lock = h.lockOf(provider, name);
      const handle = await lock.acquire();
      expect(await lock.tryAcquire()).toBeNull();
      const waiting = lock.acquire();
      await h.untilQueued(lock, 1);
      await handle.release();
      await (await waiting).release();
      expect(started.map((event) => event.backend)).toEqual(Array(3).fill(provider.capabilities.backend));
      expect(settled.map((event) => event.outcome)).toEqual(["granted", "unavailable", "granted"]);
      expect(settled[0]).toMatchObject({
        contended: false,
        token: handle.token,
        owner: handle.owner,
      });
      expect(settled[2]).toMatchObject({ contended: true, provider: provider.id });
      expect(released.map((event) => event.outcome)).toEqual(["released", "released"]);
      expect(released[0]?.heldMs).toBeGreaterThanOrEqual(0);
    },
  ],
];
