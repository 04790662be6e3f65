import {
  AcquireTimeoutError,
  InvalidArgumentError,
  LockLostError,
  type LockProvider,
  ProviderClosedError,
} from "@holdfast/core";
import { expect } from "vitest";
import { type Case, follow, type Harness, rejection, vainMs } from "./harness.js";

const waitMs = 30_000;

/** Ends the session of a provider, as the backend would. */
async function endSession(h: Harness, provider: LockProvider): Promise<void> {
  const held = await provider.mutex(h.name()).acquire();
  await h.fixture.loseHold(held);
  await h.untilAborted("the end of the session", held.lost);
}

export const doubleBarrierCases: readonly Case[] = [
  [
    "lets no member start before all are there",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([h.provider(), h.provider(), h.provider()]);
      const entering = providers
        .slice(1)
        .map((each) => follow(each.doubleBarrier(name, 3).enter({ waitMs })));
      await h.pass(150);
      expect(entering.map((each) => each.settled)).toEqual([false, false]);
      await providers[0].doubleBarrier(name, 3).enter({ waitMs });
      await h.until("the others to start", () => entering.every((each) => each.settled));
      expect(entering.map((each) => each.error)).toEqual([undefined, undefined]);
    },
  ],
  [
    "lets no member go on before all are done, round after round",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([h.provider(), h.provider(), h.provider()]);
      const barriers = providers.map((each) => each.doubleBarrier(name, 3));
      for (let round = 0; round < 3; round++) {
        const inside = await Promise.all(barriers.map((each) => each.enter({ waitMs })));
        const slow = inside[round % 3];
        const leaving = inside.filter((each) => each !== slow).map((each) => follow(each.leave({ waitMs })));
        await h.pass(100);
        expect(leaving.map((each) => each.settled)).toEqual([false, false]);
        await slow?.leave({ waitMs });
        await h.until("the others to go on", () => leaving.every((each) => each.settled));
        expect(leaving.map((each) => each.error)).toEqual([undefined, undefined]);
      }
    },
  ],
  [
    "lets more members in than it needs, and all leave together",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([h.provider(), h.provider(), h.provider(), h.provider()]);
      const early = await Promise.all(
        providers.slice(0, 2).map((each) => each.doubleBarrier(name, 2).enter({ waitMs })),
      );
      const late = await Promise.all(
        providers.slice(2).map((each) => each.doubleBarrier(name, 2).enter({ waitMs: 10_000 })),
      );
      const [last, ...others] = [...early, ...late];
      const leaving = others.map((each) => follow(each.leave({ waitMs })));
      await h.pass(100);
      expect(leaving.some((each) => each.settled)).toBe(false);
      await last?.leave({ waitMs });
      await h.until("the others to go on", () => leaving.every((each) => each.settled));
    },
  ],
  [
    "does not count a member that gave up entering",
    async (h) => {
      const name = h.name();
      const [first, second] = [await h.provider(), await h.provider()];
      const late = await rejection(first.doubleBarrier(name, 2).enter({ waitMs: vainMs }));
      expect(late).toBeInstanceOf(AcquireTimeoutError);
      const controller = new AbortController();
      const aborted = rejection(first.doubleBarrier(name, 2).enter({ signal: controller.signal }));
      const reason = new Error("enough");
      await h.pass(50);
      controller.abort(reason);
      expect(await aborted).toBe(reason);
      expect(await rejection(first.doubleBarrier(name, 2).enter({ waitMs: 0 }))).toBeInstanceOf(
        AcquireTimeoutError,
      );
      const alone = follow(second.doubleBarrier(name, 2).enter({ waitMs }));
      await h.pass(150);
      expect(alone.settled).toBe(false);
      await first.doubleBarrier(name, 2).enter({ waitMs });
      await h.until("both to start", () => alone.settled);
    },
  ],
  [
    "gives a leave up at waitMs, and takes it up again",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([h.provider(), h.provider()]);
      const inside = await Promise.all(
        providers.map((each) => each.doubleBarrier(name, 2).enter({ waitMs })),
      );
      const [first, second] = inside;
      expect(await rejection(first?.leave({ waitMs: vainMs }) as Promise<void>)).toBeInstanceOf(
        AcquireTimeoutError,
      );
      const again = follow(first?.leave({ waitMs }) as Promise<void>);
      await h.pass(100);
      expect(again.settled).toBe(false);
      await second?.leave({ waitMs });
      await h.until("the first to go on", () => again.settled);
      expect(again.error).toBeUndefined();
    },
  ],
  [
    "notifies a member that its place is gone, and does not hold the others up for it",
    async (h) => {
      const name = h.name();
      const [stays, goes] = [await h.provider(), await h.provider()];
      const [staying, going] = await Promise.all(
        [stays, goes].map((each) => each.doubleBarrier(name, 2).enter({ waitMs })),
      );
      const { lost } = going as NonNullable<typeof going>;
      expect(lost.aborted).toBe(false);
      await endSession(h, goes);
      await h.untilAborted("the loss to be told", lost);
      expect(lost.reason).toBeInstanceOf(LockLostError);
      expect(await rejection(going?.leave() as Promise<void>)).toBeInstanceOf(LockLostError);
      await staying?.leave({ waitMs });
      expect(staying?.lost.aborted).toBe(false);
    },
  ],
  [
    "counts a member once whose session ends while it waits to start",
    async (h) => {
      const name = h.name();
      const [lost, other, third] = [await h.provider(), await h.provider(), await h.provider()];
      const entering = follow(lost.doubleBarrier(name, 3).enter({ waitMs }));
      await h.pass(50);
      await endSession(h, lost);
      const waiting = follow(other.doubleBarrier(name, 3).enter({ waitMs }));
      await h.pass(200);
      expect([entering.settled, waiting.settled]).toEqual([false, false]);
      await third.doubleBarrier(name, 3).enter({ waitMs });
      await h.until("all to start", () => entering.settled && waiting.settled);
      expect([entering.error, waiting.error]).toEqual([undefined, undefined]);
    },
  ],
  [
    "sits out an outage of a member that waits to start",
    async (h) => {
      const name = h.name();
      const [cut, other] = [await h.provider(), await h.provider()];
      const entering = follow(cut.doubleBarrier(name, 2).enter({ waitMs }));
      await h.pass(50);
      const outage = await h.fixture.partition(cut);
      await h.until("the outage to be noticed", () => cut.state !== "connected");
      outage[Symbol.dispose]();
      await other.doubleBarrier(name, 2).enter({ waitMs });
      await h.until("the other to start", () => entering.settled);
      expect(entering.error).toBeUndefined();
    },
  ],
  [
    "takes a disposed member's place away at once, without waiting for the others",
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([h.provider(), h.provider()]);
      const [first, second] = await Promise.all(
        providers.map((each) => each.doubleBarrier(name, 2).enter({ waitMs })),
      );
      await first?.[Symbol.asyncDispose]();
      await first?.leave();
      await second?.leave({ waitMs });
      expect(first?.lost.aborted).toBe(false);
    },
  ],
  [
    "ends with its provider",
    async (h) => {
      const name = h.name();
      const [closing, other] = [await h.provider(), await h.provider()];
      const waiting = rejection(closing.doubleBarrier(`${name}-x`, 2).enter());
      const inside = await Promise.all(
        [closing, other].map((each) => each.doubleBarrier(name, 2).enter({ waitMs })),
      );
      const lost = inside[0]?.lost as AbortSignal;
      await closing.close();
      expect(await waiting).toBeInstanceOf(ProviderClosedError);
      await h.untilAborted("the loss to be told", lost);
      expect((lost.reason as LockLostError).reason).toBe("provider-closed");
      await inside[1]?.leave({ waitMs });
    },
  ],
  [
    "needs one party at least",
    async (h) => {
      const provider = await h.provider();
      for (const parties of [0, -1, 1.5, Number.NaN, "2" as unknown as number]) {
        expect(() => provider.doubleBarrier("x", parties)).toThrow(InvalidArgumentError);
      }
      const alone = await provider.doubleBarrier(h.name(), 1).enter({ waitMs });
      await alone.leave({ waitMs });
      await alone.leave();
    },
  ],
];
