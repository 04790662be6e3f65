import { AcquireTimeoutError, type LockHandle } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection, vainMs } from "./harness.js";
import { heldModes, Room, releaseAll, type SidesMaker } from "./read-write-support.js";

/** Cases of which sides may hold together, and which come first. */
export function sharingCases(of: SidesMaker): readonly Case[] {
  return [
    [
      "readers of several clients hold together, and each says that it shares",
      async (h) => {
        const name = h.name();
        const locks = [of(await h.provider(), name), of(await h.provider(), name)];
        const handles: LockHandle[] = [];
        for (const lock of [...locks, ...locks]) handles.push(await lock.read.acquire());
        for (const handle of handles) {
          await handle.confirm();
          expect(handle).toMatchObject({ state: "held", mode: "shared" });
        }
        const snapshot = await of(await h.provider(), name).inspect();
        expect(snapshot.held.map((info) => info.mode)).toEqual(Array(4).fill("shared"));
        expect(snapshot.pending).toEqual([]);
        await releaseAll(handles);
        await h.untilEmpty(of(await h.provider(), name));
      },
    ],
    [
      "a writer holds alone: no other acquire is granted before its release, tried once or waiting",
      async (h) => {
        const name = h.name();
        const provider = await h.provider();
        const held = await of(provider, name).write.acquire();
        expect(held.mode).toBe("exclusive");
        for (const lock of [of(provider, name), of(await h.provider(), name)]) {
          expect(await lock.read.tryAcquire()).toBeNull();
          expect(await lock.write.tryAcquire()).toBeNull();
        }
        const lock = of(await h.provider(), name);
        expect((await lock.inspect()).pending).toEqual([]);
        const reading = lock.read.acquire();
        await h.untilQueued(lock, 1);
        const writing = of(provider, name).write.acquire();
        await h.untilQueued(lock, 2);
        const seen = [follow(reading), follow(writing)];
        await held.confirm();
        expect(seen.map(({ settled }) => settled)).toEqual([false, false]);
        await held.release();
        const first = await Promise.race([reading, writing]);
        await first.confirm();
        expect(seen.filter(({ settled }) => settled)).toHaveLength(1);
        if (h.isFifo(provider)) expect(first.mode).toBe("shared");
        await first.release();
        for (const handle of await Promise.all([reading, writing])) await handle.release();
      },
    ],
    [
      "a reader behind a queued writer waits for it, although readers hold",
      async (h) => {
        const name = h.name();
        const first = await of(await h.provider(), name).read.acquire();
        const lock = of(await h.provider(), name);
        const writing = lock.write.acquire();
        await h.untilQueued(lock, 1);
        const other = await h.provider();
        expect(await of(other, name).read.tryAcquire()).toBeNull();
        const reading = of(other, name).read.acquire();
        await h.untilQueued(lock, 2);
        const seen = [follow(writing), follow(reading)];
        await first.confirm();
        expect(await heldModes(lock)).toEqual(["shared"]);
        expect(seen.map(({ settled }) => settled)).toEqual([false, false]);
        await first.release();
        const writer = await writing;
        await writer.confirm();
        expect(seen[1]?.settled).toBe(false);
        await writer.release();
        await (await reading).release();
      },
    ],
    [
      "a writer behind readers waits for the last of them, in whatever order they go",
      async (h) => {
        const name = h.name();
        const readers: LockHandle[] = [];
        for (let i = 0; i < 3; i++) readers.push(await of(await h.provider(), name).read.acquire());
        const lock = of(await h.provider(), name);
        const writing = lock.write.acquire();
        await h.untilQueued(lock, 1);
        const seen = follow(writing);
        for (const [gone, index] of [1, 0, 2].entries()) {
          await readers[2]?.confirm();
          expect(await heldModes(lock)).toEqual(Array(3 - gone).fill("shared"));
          expect(seen.settled).toBe(false);
          await readers[index]?.release();
        }
        const writer = await writing;
        expect(readers.map(({ state }) => state)).toEqual(Array(3).fill("released"));
        await writer.release();
      },
    ],
    [
      "readers queued behind a writer come in together when it goes",
      async (h) => {
        const name = h.name();
        const locks = [of(await h.provider(), name), of(await h.provider(), name)];
        const held = await of(await h.provider(), name).write.acquire();
        const reading: Promise<LockHandle>[] = [];
        for (const lock of [...locks, ...locks]) {
          reading.push(lock.read.acquire());
          await h.untilQueued(lock, reading.length);
        }
        await held.release();
        const readers = await Promise.all(reading);
        for (const reader of readers) await reader.confirm();
        expect(readers.map(({ state }) => state)).toEqual(Array(4).fill("held"));
        await releaseAll(readers);
      },
    ],
    [
      "the queue is served in order, with neighbouring readers together, where the backend promises that",
      async (h) => {
        const name = h.name();
        const providers = [await h.provider(), await h.provider()];
        const held = await of(await h.provider(), name).write.acquire();
        const room = new Room();
        const order: string[] = [];
        const all: Promise<void>[] = [];
        const plan = ["r1", "r1", "w2", "r3", "w4", "w5"];
        for (const [index, step] of plan.entries()) {
          const lock = of(providers[index % 2] as (typeof providers)[0], name);
          const side = step.startsWith("r") ? lock.read : lock.write;
          const served = async (handle: LockHandle) => {
            order.push(step);
            room.enter(handle.mode);
            // The first reader of a group waits inside for the second: they hold together, or the case fails.
            if (step === "r1" && h.isFifo(providers[0] as (typeof providers)[0])) {
              await h.until("the other reader", () => order.length >= 2);
            }
            await handle.confirm();
            room.leave(handle.mode);
            await handle.release();
          };
          all.push(side.acquire().then(served));
          await h.untilQueued(lock, index + 1);
        }
        await held.release();
        await Promise.all(all);
        expect(room.violations).toBe(0);
        if (h.isFifo(providers[0] as (typeof providers)[0])) expect(order).toEqual(plan);
        else expect([...order].sort()).toEqual([...plan].sort());
      },
    ],
    [
      "a reader's token is above those of all writers before it and below those of all after it",
      async (h) => {
        const name = h.name();
        const provider = await h.provider();
        const lock = of(provider, name);
        const other = of(await h.provider(), name);
        const groups: (bigint | null)[][] = [];
        for (let round = 0; round < 3; round++) {
          const writer = await lock.write.acquire();
          groups.push([writer.token]);
          await writer.release();
          const readers = [await lock.read.acquire(), await other.read.acquire(), await lock.read.acquire()];
          groups.push(readers.map(({ token }) => token));
          await releaseAll(readers);
        }
        for (const [index, group] of groups.entries()) {
          for (const token of group) {
            if (provider.capabilities.fencing === "none") {
              expect(token).toBeNull();
              continue;
            }
            for (const earlier of groups[index - 1] ?? []) expect(token).toBeGreaterThan(earlier as bigint);
          }
        }
      },
    ],
    [
      "there is no upgrade: a write asked for beside the own read is not granted, and nothing stays queued",
      async (h) => {
        const provider = await h.provider();
        const lock = of(provider, h.name());
        const reader = await lock.read.acquire();
        expect(await lock.write.tryAcquire()).toBeNull();
        expect(await rejection(lock.write.acquire({ waitMs: vainMs }))).toBeInstanceOf(AcquireTimeoutError);
        expect((await lock.inspect()).pending).toEqual([]);
        await reader.confirm();
        const second = await lock.read.tryAcquire();
        expect(second?.state).toBe("held");
        await second?.release();
        await reader.release();
        await (await lock.write.acquire()).release();
      },
    ],
  ];
}
