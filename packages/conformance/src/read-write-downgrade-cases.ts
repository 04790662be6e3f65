import { LockLostError, NotHeldError } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection } from "./harness.js";
import { heldModes, loseHold, releaseAll } from "./read-write-support.js";

/** Cases of the change from write to read without a gap, and of what a lock that is not re-entrant refuses. */
export const downgradeCases: readonly Case[] = [
  [
    "a downgraded write is a read with its token: queued readers come in, a queued writer stays out",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = provider.readWriteLock(name);
      const other = await h.provider();
      const write = await lock.write.acquire({ label: "first" });
      const { lost } = write;
      const reading = other.readWriteLock(name).read.acquire();
      await h.untilQueued(lock, 1);
      const writing = other.readWriteLock(name).write.acquire();
      await h.untilQueued(lock, 2);
      const late = lock.read.acquire();
      await h.untilQueued(lock, 3);
      const seen = [follow(writing), follow(late)];
      const read = await write.downgrade();
      expect(read).toMatchObject({ name, mode: "shared", state: "held", token: write.token });
      expect(read.owner).toEqual(write.owner);
      expect(write.state).toBe("released");
      expect(lost.aborted).toBe(false);
      if (h.isFifo(provider)) {
        const reader = await reading;
        await Promise.all([reader.confirm(), read.confirm()]);
        const { held } = await lock.inspect();
        expect(held.map((info) => info.mode)).toEqual(["shared", "shared"]);
        expect(held.filter((info) => info.heldByThisProvider)).toMatchObject([
          { owner: read.owner, token: read.token, label: "first" },
        ]);
        expect(seen.map(({ settled }) => settled)).toEqual([false, false]);
        await reader.release();
        expect(await heldModes(lock)).toEqual(["shared"]);
      }
      await read.confirm();
      expect(seen[0]?.settled).toBe(false);
      expect(await read.release()).toBe("released");
      const writer = await writing;
      if (write.token !== null) expect(writer.token).toBeGreaterThan(write.token);
      await writer.release();
      for (const handle of await Promise.all([reading, late])) await handle.release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "a read with holdAtLeastMs keeps writers out after its release, and readers come in; a downgrade hands the time on",
    async (h) => {
      const name = h.name();
      const holdAtLeastMs = 3_600_000;
      const provider = await h.provider();
      const other = (await h.provider()).readWriteLock(name);
      const write = await provider.readWriteLock(name).write.acquire({ holdAtLeastMs });
      const read = await write.downgrade();
      expect(await write.release()).toBe("released");
      expect(await heldModes(other)).toEqual(["shared"]);
      expect(await read.release()).toBe("still-held");
      expect(await other.write.tryAcquire()).toBeNull();
      const beside = await other.read.acquire();
      expect(await beside.release()).toBe("released");
      expect(await provider.close()).toEqual({ released: 1, unconfirmed: [] });
      await (await other.write.acquire()).release();
      await h.untilEmpty(other);
    },
  ],
  [
    "the read is granted before the write is given up, and the events say so in that order",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const told: string[] = [];
      provider.events.on("acquire-settled", (event) => {
        if (event.name === name) told.push(`${event.outcome} ${event.mode}`);
      });
      provider.events.on("released", (event) => {
        if (event.name === name) told.push(event.outcome);
      });
      const lock = provider.readWriteLock(name);
      const write = await lock.write.acquire();
      const read = await write.downgrade();
      expect(provider.holds()).toEqual([read]);
      expect(told).toEqual(["granted exclusive", "granted shared", "released"]);
      await read.release();
      expect(told).toHaveLength(4);
      expect(provider.holds()).toEqual([]);
    },
  ],
  [
    "a write is downgraded once: a second call, also at the same time, is refused",
    async (h) => {
      const lock = (await h.provider()).readWriteLock(h.name());
      const write = await lock.write.acquire();
      const [first, second] = await Promise.all([write.downgrade(), rejection(write.downgrade())]);
      expect(second).toBeInstanceOf(NotHeldError);
      expect(await rejection(write.downgrade())).toBeInstanceOf(NotHeldError);
      expect((await lock.inspect()).held).toHaveLength(1);
      await first.confirm();
      expect(await first.release()).toBe("released");
      await h.untilEmpty(lock);
    },
  ],
  [
    "releasing the write after its downgrade is that same release, and takes nothing from the read",
    async (h) => {
      const name = h.name();
      const lock = (await h.provider()).readWriteLock(name);
      const write = await lock.write.acquire();
      const read = await write.downgrade();
      expect(await write.release()).toBe("released");
      await read.confirm();
      expect(await (await h.provider()).readWriteLock(name).write.tryAcquire()).toBeNull();
      expect(await read.release()).toBe("released");
      expect(await rejection(write.confirm())).toBeInstanceOf(NotHeldError);
    },
  ],
  [
    "a write that was released or lost cannot be downgraded, and nothing is left of the try",
    async (h) => {
      const name = h.name();
      const lock = (await h.provider()).readWriteLock(name);
      const released = await lock.write.acquire();
      await released.release();
      expect(await rejection(released.downgrade())).toBeInstanceOf(NotHeldError);
      const doomed = await lock.write.acquire();
      await loseHold(h, doomed);
      expect(await rejection(doomed.downgrade())).toBeInstanceOf(LockLostError);
      const other = (await h.provider()).readWriteLock(name);
      await h.untilEmpty(other);
      await (await other.write.acquire()).release();
    },
  ],
  [
    "a write whose end was not heard of yet when it is downgraded leaves nothing behind either",
    async (h) => {
      const name = h.name();
      const lock = (await h.provider()).readWriteLock(name);
      const doomed = await lock.write.acquire();
      await h.fixture.loseHold(doomed);
      expect(await rejection(doomed.downgrade())).toBeInstanceOf(LockLostError);
      expect(doomed.state).toBe("lost");
      const other = (await h.provider()).readWriteLock(name);
      await h.untilEmpty(other);
      await (await other.write.acquire()).release();
    },
  ],
  [
    "a downgraded read that is lost says so, and the writer behind it is granted",
    async (h) => {
      const name = h.name();
      const read = await (await (await h.provider()).readWriteLock(name).write.acquire()).downgrade();
      const other = (await h.provider()).readWriteLock(name);
      const writing = other.write.acquire();
      await h.untilQueued(other, 1);
      await loseHold(h, read);
      expect(read.lost.reason).toMatchObject({ code: "HF_LOCK_LOST", token: read.token });
      const writer = await writing;
      expect(read.state).toBe("lost");
      await writer.confirm();
      expect(await read.release()).toBe("lost");
      await writer.confirm();
      await writer.release();
    },
  ],
  [
    "an abort leaves the write as it was, before the request or while contact is broken",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = provider.readWriteLock(name);
      const write = await lock.write.acquire();
      const reason = new Error("stay");
      expect(await rejection(write.downgrade({ signal: AbortSignal.abort(reason) }))).toBe(reason);
      const cut = await h.fixture.partition(provider);
      const controller = new AbortController();
      const aborted = rejection(write.downgrade({ signal: controller.signal }));
      await h.until("the hold to be uncertain", () => write.state === "uncertain");
      controller.abort(reason);
      expect(await aborted).toBe(reason);
      expect(write.lost.aborted).toBe(false);
      cut[Symbol.dispose]();
      await h.until("the hold to be certain again", () => write.state === "held");
      await write.confirm();
      const other = (await h.provider()).readWriteLock(name);
      expect(await other.read.tryAcquire()).toBeNull();
      const read = await write.downgrade();
      await h.until("no other read of ours", async () => (await other.inspect()).held.length === 1);
      const reader = await other.read.acquire();
      await releaseAll([reader, read]);
      await h.untilEmpty(other);
    },
  ],
  [
    "a downgrade asked for while contact is broken goes through once it is back",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const write = await provider.readWriteLock(name).write.acquire();
      const cut = await h.fixture.partition(provider);
      await h.until("the hold to be uncertain", () => write.state === "uncertain");
      const downgrading = write.downgrade();
      const seen = follow(downgrading);
      await h.pass(1);
      expect(seen.settled).toBe(false);
      cut[Symbol.dispose]();
      const read = await downgrading;
      expect(read).toMatchObject({ state: "held", mode: "shared" });
      await read.confirm();
      await read.release();
      await h.untilEmpty((await h.provider()).readWriteLock(name));
    },
  ],
  [
    "closing ends a downgrade that waits for contact, with the loss of the write",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const write = await provider.readWriteLock(name).write.acquire();
      const cut = await h.fixture.partition(provider);
      await h.until("the hold to be uncertain", () => write.state === "uncertain");
      const downgrading = rejection(write.downgrade());
      await provider.close({ releaseTimeoutMs: 50 });
      const error = await downgrading;
      expect(error).toBeInstanceOf(LockLostError);
      expect(error).toMatchObject({ reason: "provider-closed" });
      cut[Symbol.dispose]();
      await h.untilEmpty((await h.provider()).readWriteLock(name));
    },
  ],
  [
    "releasing the write while it is being downgraded ends the downgrade, and leaves nothing",
    async (h) => {
      const name = h.name();
      const lock = (await h.provider()).readWriteLock(name);
      const write = await lock.write.acquire();
      const downgrading = follow(write.downgrade());
      const released = write.release();
      await h.until("the downgrade to settle", () => downgrading.settled);
      expect(await released).toBe("released");
      expect(downgrading.error).toBeInstanceOf(NotHeldError);
      await h.untilEmpty(lock);
      await (await lock.write.acquire()).release();
    },
  ],
  [
    "asking once is answered in the own scope: no write beside its read, no read beside its write, but a second read",
    async (h) => {
      const lock = (await h.provider()).readWriteLock(h.name());
      await lock.read.withLock(async () => {
        expect(await lock.write.tryAcquire()).toBeNull();
        expect(await lock.read.withLock(() => "read twice")).toBe("read twice");
      });
      await lock.write.withLock(async () => {
        expect(await lock.read.tryAcquire()).toBeNull();
        expect(await lock.write.tryAcquire()).toBeNull();
      });
      await h.untilEmpty(lock);
    },
  ],
];
