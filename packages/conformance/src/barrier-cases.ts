import { AcquireTimeoutError, ProviderClosedError } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection, vainMs } from "./harness.js";

export const barrierCases: readonly Case[] = [
  [
    "is open until a client shuts it",
    async (h) => {
      const barrier = (await h.provider()).barrier(h.name());
      await barrier.wait({ waitMs: 5_000 });
      await barrier.open();
      await barrier.wait({ waitMs: 0 });
    },
  ],
  [
    "holds all waiters while it is shut, and lets them go on when it is opened",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([h.provider(), h.provider(), h.provider()]);
      await providers[0].barrier(name).shut();
      const waits = providers.flatMap((each) => [
        follow(each.barrier(name).wait({ waitMs: 30_000 })),
        follow(each.barrier(name).wait({ waitMs: 30_000 })),
      ]);
      await h.pass(100);
      expect(waits.map((each) => each.settled)).toEqual(waits.map(() => false));
      await providers[1].barrier(name).open();
      await h.until("all waiters to go on", () => waits.every((each) => each.settled));
      expect(waits.map((each) => each.error)).toEqual(waits.map(() => undefined));
    },
  ],
  [
    "is shut once however often it is shut, and opened once",
    async (h) => {
      const name = h.name();
      const [first, second] = [await h.provider(), await h.provider()];
      await first.barrier(name).shut();
      await second.barrier(name).shut();
      await second.barrier(name).open();
      await first.barrier(name).open();
      await first.barrier(name).wait({ waitMs: 0 });
    },
  ],
  [
    "stays shut when the one who shut it is gone",
    async (h) => {
      const name = h.name();
      const [first, second] = [await h.provider(), await h.provider()];
      await first.barrier(name).shut();
      await first.close();
      const waiting = rejection(second.barrier(name).wait({ waitMs: vainMs }));
      expect(await waiting).toBeInstanceOf(AcquireTimeoutError);
      await second.barrier(name).open();
      await second.barrier(name).wait({ waitMs: 0 });
    },
  ],
  [
    "gives a wait up at waitMs, and asks once with waitMs 0",
    async (h) => {
      const barrier = (await h.provider()).barrier(h.name());
      await barrier.shut();
      const late = await rejection(barrier.wait({ waitMs: vainMs }));
      expect(late).toBeInstanceOf(AcquireTimeoutError);
      expect((late as AcquireTimeoutError).waitedMs).toBeGreaterThanOrEqual(vainMs - 1);
      expect(await rejection(barrier.wait({ waitMs: 0 }))).toBeInstanceOf(AcquireTimeoutError);
    },
  ],
  [
    "gives a wait up with the signal's own reason",
    async (h) => {
      const barrier = (await h.provider()).barrier(h.name());
      await barrier.shut();
      const controller = new AbortController();
      const waiting = rejection(barrier.wait({ signal: controller.signal }));
      const reason = new Error("enough");
      controller.abort(reason);
      expect(await waiting).toBe(reason);
      expect(await rejection(barrier.wait({ signal: controller.signal }))).toBe(reason);
    },
  ],
  [
    "rejects those who wait when the provider closes, and all calls after that",
    async (h) => {
      const provider = await h.provider();
      const barrier = provider.barrier(h.name());
      await barrier.shut();
      const waiting = rejection(barrier.wait());
      await provider.close();
      expect(await waiting).toBeInstanceOf(ProviderClosedError);
      expect(await rejection(barrier.open())).toBeInstanceOf(ProviderClosedError);
    },
  ],
  [
    "is waited at over an outage in which it is opened",
    async (h) => {
      const name = h.name();
      const [cut, other] = [await h.provider(), await h.provider()];
      await other.barrier(name).shut();
      const waiting = follow(cut.barrier(name).wait({ waitMs: 30_000 }));
      await h.pass(50);
      const outage = await h.fixture.partition(cut);
      await h.until("the outage to be noticed", () => cut.state !== "connected");
      await other.barrier(name).open();
      await h.pass(100);
      expect(waiting.settled).toBe(false);
      outage[Symbol.dispose]();
      await h.until("the waiter to go on", () => waiting.settled);
      expect(waiting.error).toBeUndefined();
    },
  ],
  [
    "is waited at over the end of a session",
    async (h) => {
      const name = h.name();
      const [lost, other] = [await h.provider(), await h.provider()];
      await other.barrier(name).shut();
      const waiting = follow(lost.barrier(name).wait({ waitMs: 30_000 }));
      const held = await lost.mutex(h.name()).acquire();
      await h.fixture.loseHold(held);
      await h.untilAborted("the end of the session", held.lost);
      await lost.ready({ waitMs: 10_000 });
      expect(waiting.settled).toBe(false);
      await other.barrier(name).open();
      await h.until("the waiter to go on", () => waiting.settled);
      expect(waiting.error).toBeUndefined();
    },
  ],
];
