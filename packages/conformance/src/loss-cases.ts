import { HoldfastError, type LockHandle, LockLostError, type LossReason } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, type Harness, rejection } from "./harness.js";

/** The possible loss reasons of a hold that the backend has ended, or another client or operator through the backend. */
const endedByBackend: readonly LossReason[] = [
  "session-expired",
  "stolen",
  "lease-missing",
  "quorum-lost",
  "lease-expired",
];

async function lose(h: Harness, handle: LockHandle): Promise<void> {
  const { lost } = handle;
  await h.fixture.loseHold(handle);
  await h.untilAborted("the holder to hear of its loss", lost);
}

/** Cases of holds that end without a release, and of contact that breaks. */
export const lossCases: readonly Case[] = [
  [
    "a lost hold says so everywhere, once, with its reason and token",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const events = h.record(provider, "lost", name);
      const handle = await h.lockOf(provider, name).acquire();
      await lose(h, handle);
      const error = handle.lost.reason as LockLostError;
      expect(error).toBeInstanceOf(LockLostError);
      expect(error).toMatchObject({ code: "HF_LOCK_LOST", token: handle.token, lockName: name });
      expect(endedByBackend).toContain(error.reason);
      expect(handle.state).toBe("lost");
      expect(handle.remainingMs()).toBe(0);
      expect(() => handle.assertHeld()).toThrow(LockLostError);
      expect(await rejection(handle.confirm())).toBeInstanceOf(LockLostError);
      expect(provider.holds()).toEqual([]);
      expect(events.map((event) => event.reason)).toEqual([error.reason]);
    },
  ],
  [
    "a handle whose `lost` was not read before the loss shows it afterwards",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const events = h.record(provider, "lost", name);
      const handle = await h.lockOf(provider, name).acquire();
      await h.fixture.loseHold(handle);
      await h.until("the loss to be heard", () => events.length > 0);
      expect(handle.lost.aborted).toBe(true);
      expect(handle.lost.reason).toBeInstanceOf(LockLostError);
    },
  ],
  [
    "release after a loss answers lost and leaves the successor alone",
    async (h) => {
      const name = h.name();
      const handle = await h.lockOf(await h.provider(), name).acquire();
      await lose(h, handle);
      const successor = await h.lockOf(await h.provider(), name).acquire();
      expect(await handle.release()).toBe("lost");
      expect(await handle.release()).toBe("lost");
      await successor.confirm();
      expect(successor.state).toBe("held");
      if (handle.token !== null) expect(successor.token).toBeGreaterThan(handle.token);
      await successor.release();
    },
  ],
  [
    "a holder that has not heard of its loss is told by confirm and by release",
    async (h) => {
      const asking = await h.lockOf(await h.provider(), h.name()).acquire();
      const releasing = await h.lockOf(await h.provider(), h.name()).acquire();
      await h.fixture.loseHold(asking);
      // Not always LockLostError: the end of a session may also end the connection over which the answer would come.
      expect(await rejection(asking.confirm())).toBeInstanceOf(HoldfastError);
      await h.fixture.loseHold(releasing);
      expect(["lost", "unconfirmed"]).toContain(await releasing.release());
    },
  ],
  [
    "a waiter beside a holder in one provider is granted only once the holder knows that it lost",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      const handle = await lock.acquire();
      const stateAtGrant: string[] = [];
      const waiting = lock.acquire().then((granted) => {
        stateAtGrant.push(handle.state);
        return granted;
      });
      await h.untilQueued(lock, 1);
      await h.fixture.loseHold(handle);
      const granted = await waiting;
      expect(stateAtGrant).toEqual(["lost"]);
      await granted.confirm();
      if (handle.token !== null) expect(granted.token).toBeGreaterThan(handle.token);
      expect(await granted.release()).toBe("released");
    },
  ],
  [
    "a loss while a body runs aborts its signal; what it fulfilled with comes with the error",
    async (h) => {
      const lock = h.lockOf(await h.provider(), h.name());
      const error = await rejection(
        lock.withLock(async (handle, context) => {
          const { signal } = context;
          await h.fixture.loseHold(handle);
          await h.untilAborted("the body's signal", signal);
          expect(signal.reason).toBeInstanceOf(LockLostError);
          return "done all the same";
        }),
      );
      expect(error).toBeInstanceOf(LockLostError);
      expect(error).toMatchObject({ value: "done all the same" });
    },
  ],
  [
    "onLoss: ignore gives the body's value, and a body's own error wins over the loss",
    async (h) => {
      const provider = await h.provider();
      const lock = h.lockOf(provider, h.name());
      const value = await lock.withLock({ onLoss: "ignore" }, async (handle) => {
        await lose(h, handle);
        return 42;
      });
      expect(value).toBe(42);
      const own = new Error("my own");
      const failing = h.lockOf(provider, h.name()).withLock(async (handle) => {
        await lose(h, handle);
        throw own;
      });
      expect(await rejection(failing)).toBe(own);
    },
  ],
  [
    "an event loop blocked past the deadline: assertHeld throws in the very tick in which it resumes",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const leased = provider.capabilities.lease === "ttl";
      const handle = await h.lockOf(provider, name).acquire(leased ? { leaseMs: 3_000 } : {});
      if (provider.capabilities.lease === "process") {
        // Without a lease there is no deadline that could pass.
        expect(handle.remainingMs()).toBeGreaterThan(24 * 3_600_000);
        await handle.release();
        return;
      }
      h.blockPast(handle);
      expect(() => handle.assertHeld()).toThrow(LockLostError);
      expect(handle.remainingMs()).toBe(0);
      expect(handle.state).toBe("lost");
      expect(handle.lost.reason).toMatchObject({ reason: "lease-expired" });
      expect(await handle.release()).toBe("lost");
      const successor = await h.lockOf(await h.provider(), name).acquire();
      await successor.release();
    },
  ],
  [
    "a holder that is cut off knows that its hold is over by the time another client is granted",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      // Nothing but the end of the hold at the backend lets the other client in. The lease is the shortest in which a slow
      // machine still gets a majority of RedLock. A session cannot be shortened here.
      const handle = await h.lockOf(provider, name).acquire(h.leases(provider) ? { leaseMs: 1_000 } : {});
      using _ = await h.fixture.partition(provider);
      // Without a session, a lease or a name for its holder at the backend, a hold outlasts any cut.
      if (provider.capabilities.lease === "process" || h.fixture.anonymous === true) {
        await h.until("the hold to be uncertain", () => handle.state === "uncertain");
        return handle.assertHeld();
      }
      const next = await h.lockOf(await h.provider(), name).acquire({ waitMs: 50_000 });
      expect([handle.state, handle.remainingMs()]).toEqual(["lost", 0]);
      expect(() => handle.assertHeld()).toThrow(LockLostError);
      await next.release();
    },
  ],
  [
    "broken contact makes a hold uncertain, and contact in time makes it certain again",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const uncertain = h.record(provider, "uncertain", name);
      const recovered = h.record(provider, "recovered", name);
      const handle = await h.lockOf(provider, name).acquire();
      const cut = await h.fixture.partition(provider);
      await h.until("the hold to be uncertain", () => handle.state === "uncertain");
      handle.assertHeld();
      expect(handle.lost.aborted).toBe(false);
      cut[Symbol.dispose]();
      await h.until("the hold to be certain again", () => handle.state === "held");
      expect(uncertain).toHaveLength(1);
      expect(recovered).toHaveLength(1);
      await handle.confirm();
      expect(await handle.release()).toBe("released");
    },
  ],
  [
    "without contact an abort ends the wait at once, and no grant comes through",
    async (h) => {
      const name = h.name();
      const held = await h.lockOf(await h.provider(), name).acquire();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      const queued = new AbortController();
      const waiting = follow(lock.acquire({ signal: queued.signal }));
      await h.untilQueued(lock, 1);
      const cut = await h.fixture.partition(provider);
      await h.until("the link to be down", () => provider.state !== "connected");
      const reason = new Error("not any more");
      queued.abort(reason);
      await h.pass(0);
      expect(waiting).toMatchObject({ settled: true, error: reason });
      const fresh = new AbortController();
      const late = follow(lock.acquire({ signal: fresh.signal }));
      fresh.abort(reason);
      await h.pass(0);
      expect(late).toMatchObject({ settled: true, error: reason });
      cut[Symbol.dispose]();
      await held.release();
      await h.untilEmpty(h.lockOf(await h.provider(), name));
    },
  ],
  [
    "a waiter keeps waiting through a short cut and is granted afterwards",
    async (h) => {
      const name = h.name();
      const held = await h.lockOf(await h.provider(), name).acquire();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      const waiting = lock.acquire();
      await h.untilQueued(lock, 1);
      const cut = await h.fixture.partition(provider);
      await h.until("the link to be down", () => provider.state !== "connected");
      cut[Symbol.dispose]();
      await held.release();
      const handle = await waiting;
      expect(provider.state).toBe("connected");
      await handle.confirm();
      await handle.release();
      await h.untilEmpty(h.lockOf(await h.provider(), name));
    },
  ],
];
