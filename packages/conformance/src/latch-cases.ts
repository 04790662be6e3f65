import { AcquireTimeoutError, InvalidArgumentError, ProviderClosedError } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, rejection, vainMs } from "./harness.js";

export const latchCases: readonly Case[] = [
  [
    "is at zero, and no wait is held up, until a client sets it",
    async (h) => {
      const latch = (await h.provider()).countDownLatch(h.name());
      expect(await latch.count()).toBe(0);
      await latch.wait({ waitMs: 5_000 });
      expect(await latch.countDown()).toBe(0);
    },
  ],
  [
    "is set once until it is at zero: the count of the first client stands",
    async (h) => {
      const name = h.name();
      const [first, second] = [await h.provider(), await h.provider()];
      expect(await first.countDownLatch(name).trySetCount(2)).toBe(true);
      expect(await second.countDownLatch(name).trySetCount(9)).toBe(false);
      expect(await second.countDownLatch(name).count()).toBe(2);
      expect(await second.countDownLatch(name).countDown(2)).toBe(0);
      expect(await first.countDownLatch(name).trySetCount(5)).toBe(true);
      expect(await first.countDownLatch(name).count()).toBe(5);
    },
  ],
  [
    "countDown gives what is left, and stops at zero",
    async (h) => {
      const latch = (await h.provider()).countDownLatch(h.name());
      await latch.trySetCount(5);
      expect(await latch.countDown()).toBe(4);
      expect(await latch.countDown(3)).toBe(1);
      expect(await latch.countDown(7)).toBe(0);
      expect(await latch.count()).toBe(0);
    },
  ],
  [
    "lets all waiters go on at zero, and none before",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([h.provider(), h.provider(), h.provider()]);
      const [first] = providers;
      const latch = first.countDownLatch(name);
      await latch.trySetCount(2);
      const waits = providers.flatMap((each) => [
        follow(each.countDownLatch(name).wait({ waitMs: 30_000 })),
        follow(each.countDownLatch(name).wait({ waitMs: 30_000 })),
      ]);
      await latch.countDown();
      await h.pass(100);
      expect(waits.map((each) => each.settled)).toEqual(waits.map(() => false));
      await latch.countDown();
      await h.until("all waiters to go on", () => waits.every((each) => each.settled));
      expect(waits.map((each) => each.error)).toEqual(waits.map(() => undefined));
    },
  ],
  [
    "counts each of many simultaneous countdowns exactly once",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([h.provider(), h.provider(), h.provider(), h.provider()]);
      const each = 10;
      const all = providers.length * each;
      await providers[0]?.countDownLatch(name).trySetCount(all);
      const left = await Promise.all(
        providers.flatMap((provider) => {
          const latch = provider.countDownLatch(name);
          return Array.from({ length: each }, () => latch.countDown());
        }),
      );
      expect([...left].sort((a, b) => b - a)).toEqual(Array.from({ length: all }, (_, i) => all - 1 - i));
    },
  ],
  [
    "gives a wait up at waitMs, and asks once with waitMs 0",
    async (h) => {
      const latch = (await h.provider()).countDownLatch(h.name());
      await latch.trySetCount(1);
      const startedMs = h.runtime.nowMs();
      const late = await rejection(latch.wait({ waitMs: vainMs }));
      expect(late).toBeInstanceOf(AcquireTimeoutError);
      expect((late as AcquireTimeoutError).waitedMs).toBeGreaterThanOrEqual(vainMs - 1);
      expect(h.runtime.nowMs() - startedMs).toBeLessThan(5_000);
      expect(await rejection(latch.wait({ waitMs: 0 }))).toBeInstanceOf(AcquireTimeoutError);
      await latch.countDown();
      await latch.wait({ waitMs: 0 });
    },
  ],
  [
    "gives a wait up with the signal's own reason",
    async (h) => {
      const latch = (await h.provider()).countDownLatch(h.name());
      await latch.trySetCount(1);
      const controller = new AbortController();
      const waiting = rejection(latch.wait({ signal: controller.signal }));
      const reason = new Error("enough");
      controller.abort(reason);
      expect(await waiting).toBe(reason);
      expect(await rejection(latch.wait({ signal: controller.signal }))).toBe(reason);
    },
  ],
  [
    "rejects those who wait when the provider closes, and all calls after that",
    async (h) => {
      const provider = await h.provider();
      const latch = provider.countDownLatch(h.name());
      await latch.trySetCount(1);
      const waiting = rejection(latch.wait());
      await provider.close();
      expect(await waiting).toBeInstanceOf(ProviderClosedError);
      expect(await rejection(latch.count())).toBeInstanceOf(ProviderClosedError);
      expect(await rejection(latch.countDown())).toBeInstanceOf(ProviderClosedError);
    },
  ],
  [
    "is waited for over an outage in which it comes to zero",
    async (h) => {
      const name = h.name();
      const [cut, other] = [await h.provider(), await h.provider()];
      await other.countDownLatch(name).trySetCount(1);
      const waiting = follow(cut.countDownLatch(name).wait({ waitMs: 30_000 }));
      await h.pass(50);
      const outage = await h.fixture.partition(cut);
      await h.until("the outage to be noticed", () => cut.state !== "connected");
      expect(await other.countDownLatch(name).countDown()).toBe(0);
      await h.pass(100);
      expect(waiting.settled).toBe(false);
      outage[Symbol.dispose]();
      await h.until("the waiter to go on", () => waiting.settled);
      expect(waiting.error).toBeUndefined();
    },
  ],
  [
    "refuses counts and options that make no sense",
    async (h) => {
      const latch = (await h.provider()).countDownLatch(h.name());
      for (const wrong of [-1, 1.5, 2 ** 31, Number.NaN, "2" as unknown as number]) {
        expect(await rejection(latch.trySetCount(wrong))).toBeInstanceOf(InvalidArgumentError);
        expect(await rejection(latch.countDown(wrong))).toBeInstanceOf(InvalidArgumentError);
      }
      expect(await rejection(latch.countDown(0))).toBeInstanceOf(InvalidArgumentError);
      expect(await rejection(latch.wait({ waitMs: -1 }))).toBeInstanceOf(InvalidArgumentError);
      expect(await rejection(latch.wait({ timeout: 5 } as object))).toBeInstanceOf(InvalidArgumentError);
    },
  ],
];
