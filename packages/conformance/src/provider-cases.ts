import { LockLostError, ProviderClosedError } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, rejection } from "./harness.js";

/** Cases of `inspect`, of asking a holder to release, and of closing. */
export const providerCases: readonly Case[] = [
  [
    "inspect shows the holder and the queue, from both sides",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const other = await h.provider();
      const lock = h.lockOf(provider, name);
      const empty = await lock.inspect();
      expect(empty).toMatchObject({ name, kind: null, held: [], pending: [] });
      const handle = await lock.acquire({ label: "holder" });
      const abort = new AbortController();
      const waiting = [1, 2].map(() => rejection(h.lockOf(other, name).acquire({ signal: abort.signal })));
      await h.untilQueued(lock, 2);
      const shown = h.showsWaiters ? 2 : null;
      // A waiter that asks for several locks at once may be seen, gone, and seen again before its place is final.
      let own = await lock.inspect();
      await h.until(`both waiters of ${name}`, async () => {
        own = await lock.inspect();
        return own.pendingTotal === shown;
      });
      expect(own.takenAt).toBeInstanceOf(Date);
      expect(own.held).toHaveLength(1);
      expect(own.held[0]).toMatchObject({
        heldByThisProvider: true,
        owner: handle.owner,
        label: "holder",
        token: handle.token,
        mode: h.mode,
        holdCount: 1,
      });
      const foreign = await h.lockOf(other, name).inspect({ maxPending: 1 });
      expect(foreign.held[0]).toMatchObject({ heldByThisProvider: false, owner: null });
      if (h.fixture.anonymous !== true) expect(foreign.held[0]?.backendId).toBe(own.held[0]?.backendId);
      if (h.showsWaiters) expect(foreign.pending).toHaveLength(1);
      expect(foreign.pendingTotal).toBe(own.pendingTotal);
      if (h.showsWaiters && h.isFifo(provider)) expect(foreign.pending[0]?.position).toBe(0);
      abort.abort();
      await Promise.all(waiting);
      await handle.release();
    },
  ],
  [
    "a revoke request reaches a revocable holder; nothing is released by itself",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const asked = h.record(provider, "revoke-requested", name);
      const lock = h.lockOf(provider, name);
      const other = h.lockOf(await h.provider(), name);
      expect(await other.requestRevoke()).toBe(false);
      const handle = await lock.acquire({ revocable: true });
      const { revokeRequested } = handle;
      expect(await other.requestRevoke()).toBe(true);
      await h.untilAborted("the request to be heard", revokeRequested);
      await other.requestRevoke();
      await handle.confirm();
      expect(handle.state).toBe("held");
      expect(handle.lost.aborted).toBe(false);
      expect(asked).toHaveLength(1);
      await handle.release();
      const deaf = await lock.acquire();
      await other.requestRevoke();
      await deaf.confirm();
      expect(deaf.revokeRequested.aborted).toBe(false);
      await deaf.release();
    },
  ],
  [
    "close rejects waiters, notifies holders, releases what is held, and takes no new work",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = h.lockOf(provider, name);
      const handle = await lock.acquire();
      const { lost } = handle;
      const waiting = rejection(lock.acquire());
      await h.untilQueued(lock, 1);
      const closing = provider.close();
      expect(provider.close()).toBe(closing);
      expect(await closing).toEqual({ released: 1, unconfirmed: [] });
      expect(await waiting).toBeInstanceOf(ProviderClosedError);
      expect(lost.reason).toBeInstanceOf(LockLostError);
      expect(lost.reason).toMatchObject({ reason: "provider-closed" });
      expect(provider.state).toBe("closed");
      expect(await handle.release()).toBe("lost");
      expect(await rejection(lock.acquire())).toBeInstanceOf(ProviderClosedError);
      expect(await rejection(lock.inspect())).toBeInstanceOf(ProviderClosedError);
      expect(await rejection(provider.ready())).toBeInstanceOf(ProviderClosedError);
      const next = await h.lockOf(await h.provider(), name).acquire();
      await next.release();
      await h.untilEmpty(h.lockOf(await h.provider(), name));
    },
  ],
];

export const foreignCases: readonly Case[] = [
  [
    "a foreign client keeps ours out, and ours is granted after it",
    async (h) => {
      const name = h.name();
      const theirs = await h.fixture.foreign?.acquire(name);
      const lock = h.lockOf(await h.provider(), name);
      expect(await lock.tryAcquire()).toBeNull();
      expect((await lock.inspect()).held).toHaveLength(1);
      const waiting = lock.acquire();
      await h.untilQueued(lock, 1);
      await theirs?.release();
      await (await waiting).release();
    },
  ],
  [
    "ours keeps a foreign client out, and it is granted after ours",
    async (h) => {
      const name = h.name();
      const lock = h.lockOf(await h.provider(), name);
      const handle = await lock.acquire();
      let stateAtGrant: string | undefined;
      const theirs = h.fixture.foreign?.acquire(name).then((granted) => {
        stateAtGrant = handle.state;
        return granted;
      });
      await h.untilQueued(lock, 1);
      expect(stateAtGrant).toBeUndefined();
      await handle.release();
      await (await theirs)?.release();
      expect(stateAtGrant).toBe("released");
    },
  ],
];
