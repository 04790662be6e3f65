import {
  AcquireTimeoutError,
  BackendError,
  InvalidArgumentError,
  type LockHandle,
  UnsupportedError,
} from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection, vainMs } from "./harness.js";

/** Cases of acquires: asking, waiting, and giving up. */
export const acquireCases: readonly Case[] = [
  [
    "a free lock is granted, and the handle says all about it",
    async (h) => {
      const provider = await h.provider();
      const name = h.name();
      const handle = await h.lockOf(provider, name).acquire({ label: "first" });
      expect(handle.name).toBe(name);
      expect(handle.mode).toBe(h.mode);
      expect(handle.owner.label).toBe("first");
      expect(handle.state).toBe("held");
      expect(handle.remainingMs()).toBeGreaterThan(0);
      expect(handle.lost.aborted).toBe(false);
      expect(handle.token === null).toBe(provider.capabilities.fencing === "none");
      handle.assertHeld();
      await handle.confirm();
      expect(provider.holds()).toEqual([handle]);
      expect(await handle.release()).toBe("released");
      expect(provider.holds()).toEqual([]);
    },
  ],
  [
    "a second client is granted only after the first has released",
    async (h) => {
      const name = h.name();
      const first = await h.lockOf(await h.provider(), name).acquire();
      const lock = h.lockOf(await h.provider(), name);
      const second = lock.acquire();
      const seen = follow(second);
      await h.untilQueued(lock, 1);
      expect(seen.settled).toBe(false);
      expect(first.state).toBe("held");
      expect(await first.release()).toBe("released");
      const handle = await second;
      expect(handle.state).toBe("held");
      await handle.release();
    },
  ],
  [
    "two views of one provider exclude each other",
    async (h) => {
      const provider = await h.provider();
      const name = h.name();
      const first = await h.lockOf(provider, name).acquire();
      const second = h.lockOf(provider, name).acquire();
      const seen = follow(second);
      await h.untilQueued(h.lockOf(provider, name), 1);
      expect(seen.settled).toBe(false);
      await first.release();
      await (await second).release();
    },
  ],
  [
    "tryAcquire gives null for a held lock and leaves nothing queued",
    async (h) => {
      const name = h.name();
      const lock = h.lockOf(await h.provider(), name);
      const held = await lock.acquire();
      const other = h.lockOf(await h.provider(), name);
      expect(await other.tryAcquire()).toBeNull();
      expect((await other.inspect()).pending).toEqual([]);
      await held.release();
      const handle = await other.tryAcquire();
      expect(handle?.state).toBe("held");
      await handle?.release();
    },
  ],
  [
    "acquire with waitMs 0 asks once and rejects with AcquireTimeoutError",
    async (h) => {
      const name = h.name();
      const lock = h.lockOf(await h.provider(), name);
      const held = await lock.acquire({ waitMs: 0 });
      const error = await rejection(h.lockOf(await h.provider(), name).acquire({ waitMs: 0 }));
      expect(error).toBeInstanceOf(AcquireTimeoutError);
      expect(error).toMatchObject({ code: "HF_ACQUIRE_TIMEOUT", lockName: name });
      await held.release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "waitMs bounds the wait, and nothing is left queued",
    async (h) => {
      const name = h.name();
      const held = await h.lockOf(await h.provider(), name).acquire();
      const lock = h.lockOf(await h.provider(), name);
      const startedMs = h.runtime.nowMs();
      const tried = lock.tryAcquire({ waitMs: vainMs });
      const error = await rejection(lock.acquire({ waitMs: vainMs }));
      expect(error).toBeInstanceOf(AcquireTimeoutError);
      expect((error as AcquireTimeoutError).waitedMs).toBeGreaterThanOrEqual(vainMs - 1);
      expect(h.runtime.nowMs() - startedMs).toBeGreaterThanOrEqual(vainMs - 1);
      expect(await tried).toBeNull();
      await h.until("nobody to wait", async () => (await lock.inspect()).pending.length === 0);
      await held.release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "a signal that is aborted already rejects with its reason before anything is sent",
    async (h) => {
      const provider = await h.provider();
      const name = h.name();
      const started = h.record(provider, "acquire-started", name);
      const reason = { why: "never mind" };
      const lock = h.lockOf(provider, name);
      expect(await rejection(lock.acquire({ signal: AbortSignal.abort(reason) }))).toBe(reason);
      expect(await rejection(lock.tryAcquire({ signal: AbortSignal.abort(reason) }))).toBe(reason);
      expect(started).toEqual([]);
    },
  ],
  [
    "an abort while waiting rejects with the very reason and leaves nothing queued",
    async (h) => {
      const name = h.name();
      const held = await h.lockOf(await h.provider(), name).acquire();
      const provider = await h.provider();
      const settled = h.record(provider, "acquire-settled", name);
      const lock = h.lockOf(provider, name);
      const controller = new AbortController();
      const waiting = lock.acquire({ signal: controller.signal, waitMs: 60_000 });
      const seen = rejection(waiting);
      await h.untilQueued(lock, 1);
      const reason = new Error("enough");
      controller.abort(reason);
      expect(await seen).toBe(reason);
      expect((await lock.inspect()).pending).toEqual([]);
      expect(settled.map((event) => event.outcome)).toEqual(["aborted"]);
      await held.release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "an abort after the grant has no effect",
    async (h) => {
      const controller = new AbortController();
      const handle = await h.lockOf(await h.provider(), h.name()).acquire({ signal: controller.signal });
      controller.abort(new Error("too late"));
      expect(handle.lost.aborted).toBe(false);
      expect(handle.state).toBe("held");
      expect(await handle.release()).toBe("released");
    },
  ],
  [
    "abort, time-out and grant at one moment: one of them wins, and nothing is left",
    async (h) => {
      const name = h.name();
      const holder = h.lockOf(await h.provider(), name);
      const lock = h.lockOf(await h.provider(), name);
      for (let round = 0; round < 24; round++) {
        const held = await holder.acquire();
        const controller = new AbortController();
        const waitMs = round % 3 === 2 ? 20 + (round % 5) : 60_000;
        const reason = new Error(`round ${round}`);
        const waiting = follow(lock.acquire({ signal: controller.signal, waitMs }));
        if (round % 3 === 2) {
          await h.pass(18 + (round % 5));
          await held.release();
        } else {
          await h.untilQueued(lock, 1);
          const released = held.release();
          if (round % 2 === 0) await h.pass(round % 4);
          controller.abort(reason);
          await released;
        }
        await h.until("the race to be decided", () => waiting.settled);
        if (waiting.value !== undefined) {
          expect(waiting.value.state).toBe("held");
          await waiting.value.release();
        } else if (waiting.error instanceof AcquireTimeoutError || waiting.error instanceof BackendError) {
          // The acquire may also end without an answer, from a server that is slower than the limit.
          expect(waitMs).toBeLessThan(60_000);
        } else {
          expect(waiting.error).toBe(reason);
        }
        await h.untilEmpty(lock);
      }
    },
  ],
  [
    "many waiters may share one signal, without a warning of leaking listeners",
    async (h) => {
      const warnings: string[] = [];
      const onWarning = (warning: Error) => warnings.push(warning.name);
      process.on("warning", onWarning);
      try {
        const provider = await h.provider();
        const name = h.name();
        const held = await h.lockOf(provider, name).acquire();
        const controller = new AbortController();
        const lock = h.lockOf(provider, name);
        const waiting = Array.from({ length: 30 }, () =>
          rejection(lock.acquire({ signal: controller.signal })),
        );
        await h.untilQueued(lock, 30);
        controller.abort("all of you");
        expect(await Promise.all(waiting)).toEqual(Array(30).fill("all of you"));
        await held.release();
        await h.untilEmpty(lock);
        expect(warnings).not.toContain("MaxListenersExceededWarning");
      } finally {
        process.off("warning", onWarning);
      }
    },
  ],
  [
    "waiters are served in the order of their arrival where that is promised, and all in any case",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const other = await h.provider();
      const held = await h.lockOf(provider, name).acquire();
      const order: number[] = [];
      const all: Promise<void>[] = [];
      for (let i = 0; i < 6; i++) {
        const lock = h.lockOf(i % 2 === 0 ? provider : other, name);
        const served = async (handle: LockHandle) => {
          order.push(i);
          await handle.release();
        };
        all.push(lock.acquire().then(served));
        await h.untilQueued(lock, i + 1);
      }
      await held.release();
      await Promise.all(all);
      const expected = [0, 1, 2, 3, 4, 5];
      if (h.isFifo(provider)) expect(order).toEqual(expected);
      else expect([...order].sort()).toEqual(expected);
    },
  ],
  [
    "tokens rise strictly from grant to grant, across clients",
    async (h) => {
      const name = h.name();
      const providers = [await h.provider(), await h.provider()];
      const tokens: (bigint | null)[] = [];
      for (let round = 0; round < 6; round++) {
        for (const provider of providers) {
          const handle = await h.lockOf(provider, name).acquire();
          tokens.push(handle.token);
          await handle.release();
        }
      }
      const fenced = providers[0]?.capabilities.fencing !== "none";
      for (const [i, token] of tokens.entries()) {
        if (!fenced) expect(token).toBeNull();
        else if (i > 0) expect(token).toBeGreaterThan(tokens[i - 1] as bigint);
      }
    },
  ],
  [
    "many contenders are never two inside, and all get their turns",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all(Array.from({ length: 3 }, () => h.provider()));
      let inside = 0;
      let most = 0;
      let turns = 0;
      const contend = async (index: number) => {
        const lock = h.lockOf(providers[index % 3] ?? raise(), name);
        for (let round = 0; round < 5; round++) {
          await lock.withLock(async () => {
            most = Math.max(most, ++inside);
            await h.pass(h.runtime.random() * 3);
            inside--;
            turns++;
          });
        }
      };
      await Promise.all(Array.from({ length: 9 }, (_, index) => contend(index)));
      expect({ most, turns }).toEqual({ most: 1, turns: 45 });
    },
  ],
  [
    "wrong names and options are refused at once, with the name of what is wrong",
    async (h) => {
      const provider = await h.provider();
      expect(() => h.lockOf(provider, "")).toThrow(InvalidArgumentError);
      expect(() => h.lockOf(provider, "x".repeat(513))).toThrow(/512/);
      expect(() => h.lockOf(provider, 7 as unknown as string)).toThrow(InvalidArgumentError);
      const lock = h.lockOf(provider, h.name());
      const wrong: [object, RegExp][] = [
        [{ waitMs: Number.NaN }, /waitMs/],
        [{ waitMs: -1 }, /waitMs/],
        [{ waitMs: "5" }, /waitMs/],
        [{ signal: new AbortController() }, /signal.*pass its \.signal/],
        [{ leaseMs: 0 }, /leaseMs/],
        [{ leaseMs: Infinity }, /leaseMs/],
        [{ waitMS: 5 }, /waitMS.*did you mean waitMs/],
      ];
      for (const [options, message] of wrong) {
        const error = await rejection(lock.acquire(options));
        expect(error).toBeInstanceOf(InvalidArgumentError);
        expect((error as Error).message).toMatch(message);
      }
      expect((await lock.inspect()).held).toEqual([]);
    },
  ],
  [
    "a lease that the backend would not keep is refused, by leaseMs and by renew: false",
    async (h) => {
      const provider = await h.provider();
      const lock = h.lockOf(provider, h.name());
      const kept = h.leases(provider);
      for (const options of [{ leaseMs: 3_000 }, { renew: false }]) {
        if (kept) {
          expect(await (await lock.acquire(options)).release()).toBe("released");
          continue;
        }
        for (const refused of [lock.acquire(options), lock.tryAcquire(options)]) {
          const error = await rejection(refused);
          expect(error).toBeInstanceOf(UnsupportedError);
          expect((error as Error).message).toContain(Object.keys(options)[0]);
        }
      }
      expect(await (await lock.acquire({ renew: true })).release()).toBe("released");
    },
  ],
];

function raise(): never {
  throw new Error("no provider");
}
