import { AcquireTimeoutError, LockLostError, ProviderClosedError } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection, vainMs } from "./harness.js";
import { loseHold, releaseAll, type SidesMaker } from "./read-write-support.js";

/** Cases of waits that are given up, of holds that end, and of `inspect`. */
export function sidesEndCases(of: SidesMaker): readonly Case[] {
  return [
    [
      "a queued writer that is aborted or timed out lets the readers behind it in",
      async (h) => {
        const name = h.name();
        const first = await of(await h.provider(), name).read.acquire();
        const lock = of(await h.provider(), name);
        const readers = of(await h.provider(), name);
        for (const how of ["abort", "time-out"]) {
          const controller = new AbortController();
          const waitMs = how === "abort" ? 60_000 : vainMs;
          const writing = rejection(lock.write.acquire({ signal: controller.signal, waitMs }));
          // On a busy machine the writer's time may be over before the readers stand behind it. They are then granted at once.
          const writer = follow(writing);
          const over = () => writer.settled;
          await h.untilQueued(lock, 1, over);
          const reading = [readers.read.acquire(), lock.read.acquire()];
          await h.untilQueued(lock, 3, over);
          const reason = new Error("no more");
          if (how === "abort") controller.abort(reason);
          const error = await writing;
          if (how === "abort") expect(error).toBe(reason);
          else expect(error).toBeInstanceOf(AcquireTimeoutError);
          const granted = await Promise.all(reading);
          await first.confirm();
          expect(first.state).toBe("held");
          await releaseAll(granted);
        }
        await first.release();
        await h.untilEmpty(lock);
      },
    ],
    [
      "a queued reader that gives up leaves the order of the others alone",
      async (h) => {
        const name = h.name();
        const provider = await h.provider();
        const held = await of(provider, name).write.acquire();
        const lock = of(await h.provider(), name);
        const controller = new AbortController();
        const leaving = rejection(lock.read.acquire({ signal: controller.signal }));
        await h.untilQueued(lock, 1);
        const writing = lock.write.acquire();
        await h.untilQueued(lock, 2);
        const reading = of(provider, name).read.acquire();
        await h.untilQueued(lock, 3);
        const seen = follow(reading);
        controller.abort("gone");
        expect(await leaving).toBe("gone");
        await held.release();
        if (h.isFifo(provider)) {
          const writer = await writing;
          await writer.confirm();
          expect(seen.settled).toBe(false);
          await writer.release();
          await (await reading).release();
        } else {
          await Promise.all([writing, reading].map(async (each) => (await each).release()));
        }
        await h.untilEmpty(lock);
      },
    ],
    [
      "a reader that loses its hold takes nothing from the others, and a writer waits for those",
      async (h) => {
        const name = h.name();
        const doomed = await of(await h.provider(), name).read.acquire();
        const other = await of(await h.provider(), name).read.acquire();
        const lock = of(await h.provider(), name);
        const writing = lock.write.acquire();
        await h.untilQueued(lock, 1);
        const seen = follow(writing);
        await loseHold(h, doomed);
        expect(doomed.lost.reason).toBeInstanceOf(LockLostError);
        await h.until("the lost one to be gone", async () => (await lock.inspect()).held.length === 1);
        await other.confirm();
        expect(other.lost.aborted).toBe(false);
        expect(seen.settled).toBe(false);
        expect(await doomed.release()).toBe("lost");
        await other.confirm();
        await other.release();
        await (await writing).release();
      },
    ],
    [
      "when a writer loses its hold the readers behind it come in, with higher tokens",
      async (h) => {
        const name = h.name();
        const doomed = await of(await h.provider(), name).write.acquire();
        const lock = of(await h.provider(), name);
        const reading = [lock.read.acquire(), lock.read.acquire()];
        await h.untilQueued(lock, 2);
        await loseHold(h, doomed);
        const readers = await Promise.all(reading);
        expect(doomed.state).toBe("lost");
        for (const reader of readers) {
          await reader.confirm();
          if (doomed.token !== null) expect(reader.token).toBeGreaterThan(doomed.token);
        }
        expect(await doomed.release()).toBe("lost");
        await releaseAll(readers);
      },
    ],
    [
      "a waiter whose session ends stands again at the tail, and only where sessions end",
      async (h) => {
        const name = h.name();
        const provider = await h.provider();
        const requeued = h.record(provider, "requeued", name);
        const bystander = await of(provider, h.name()).write.acquire();
        const held = await of(await h.provider(), name).write.acquire();
        const lock = of(await h.provider(), name);
        const order: string[] = [];
        const reading = of(provider, name).read.acquire();
        await h.untilQueued(lock, 1);
        const writing = lock.write.acquire();
        await h.untilQueued(lock, 2);
        const serve = async (what: string, asked: typeof reading) => {
          const handle = await asked;
          order.push(what);
          await handle.confirm();
          await handle.release();
        };
        const served = [serve("reader", reading), serve("writer", writing)];
        await loseHold(h, bystander);
        const { reason } = bystander.lost.reason as LockLostError;
        const again = reason === "session-expired";
        if (again) await h.until("the reader to stand again", () => requeued.length > 0);
        await h.untilQueued(lock, 2);
        expect(requeued.map((event) => event.reason)).toEqual(again ? ["session-lost"] : []);
        await held.release();
        await Promise.all(served);
        if (h.isFifo(provider)) expect(order).toEqual(again ? ["writer", "reader"] : ["reader", "writer"]);
        await h.untilEmpty(lock);
      },
    ],
    [
      "inspect shows the side of every holder and waiter, and the positions",
      async (h) => {
        const name = h.name();
        const provider = await h.provider();
        const lock = of(provider, name);
        const other = of(await h.provider(), name);
        expect(await lock.inspect()).toMatchObject({ kind: null, held: [], pending: [] });
        const readers = [await lock.read.acquire({ label: "mine" }), await other.read.acquire()];
        const controller = new AbortController();
        const { signal } = controller;
        const waiting = [rejection(lock.write.acquire({ signal }))];
        await h.untilQueued(lock, 1);
        waiting.push(rejection(other.read.acquire({ signal })));
        await h.untilQueued(lock, 2);
        waiting.push(rejection(other.write.acquire({ signal })));
        await h.untilQueued(lock, 3);
        const seen = await lock.inspect();
        expect(seen.kind).toMatch(/read-write-lock$/);
        expect(seen.held.map((info) => info.mode)).toEqual(["shared", "shared"]);
        expect(seen.pendingTotal).toBe(h.showsWaiters ? 3 : null);
        const own = seen.held.filter((info) => info.heldByThisProvider);
        expect(own).toHaveLength(1);
        expect(own[0]).toMatchObject({ label: "mine", token: readers[0]?.token, owner: readers[0]?.owner });
        const modes = seen.pending.map((info) => info.mode);
        if (h.isFifo(provider)) {
          expect(modes).toEqual(["exclusive", "shared", "exclusive"]);
          expect(seen.pending.map((info) => info.position)).toEqual([0, 1, 2]);
        } else if (h.showsWaiters) {
          expect([...modes].sort()).toEqual(["exclusive", "exclusive", "shared"]);
        }
        if (h.showsWaiters) expect((await other.inspect({ maxPending: 1 })).pending).toHaveLength(1);
        controller.abort("seen enough");
        expect(await Promise.all(waiting)).toEqual(Array(3).fill("seen enough"));
        await releaseAll(readers);
        await h.untilEmpty(lock);
      },
    ],
    [
      "a revoke request reaches every reader that is revocable, and no other",
      async (h) => {
        const name = h.name();
        const lock = of(await h.provider(), name);
        const other = of(await h.provider(), name);
        expect(await other.requestRevoke()).toBe(false);
        const revocable = [
          await lock.read.acquire({ revocable: true }),
          await other.read.acquire({ revocable: true }),
        ];
        const deaf = await lock.read.acquire();
        const signals = revocable.map(({ revokeRequested }) => revokeRequested);
        expect(await of(await h.provider(), name).requestRevoke()).toBe(true);
        for (const signal of signals) await h.untilAborted("the request to be heard", signal);
        await deaf.confirm();
        expect(deaf.revokeRequested.aborted).toBe(false);
        for (const handle of [...revocable, deaf]) expect(handle.state).toBe("held");
        await releaseAll([...revocable, deaf]);
      },
    ],
    [
      "close gives back reads and writes, and rejects those who wait on either side",
      async (h) => {
        const names = [h.name(), h.name()] as const;
        const provider = await h.provider();
        const reader = await of(provider, names[0]).read.acquire();
        const writer = await of(provider, names[1]).write.acquire();
        const waiting = [
          rejection(of(provider, names[0]).write.acquire({ waitMs: 60_000, label: "waits" })),
          rejection(of(provider, names[1]).read.acquire({ waitMs: 60_000, label: "waits" })),
        ];
        for (const name of names) await h.untilQueued(of(provider, name), 1);
        expect(await provider.close()).toEqual({ released: 2, unconfirmed: [] });
        for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(ProviderClosedError);
        expect([reader.state, writer.state]).toEqual(["lost", "lost"]);
        const other = await h.provider();
        for (const name of names) await h.untilEmpty(of(other, name));
      },
    ],
  ];
}
