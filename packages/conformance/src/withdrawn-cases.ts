import { expect } from "vitest";
import { type Case, type Harness, rejection } from "./harness.js";

/** Gives up an acquire in the moment in which the answer to its request is lost. */
async function giveUpUnanswered(h: Harness, name: string): Promise<void> {
  const provider = await h.provider();
  const lock = h.lockOf(provider, name);
  const lost = h.fixture.loseAnswer?.(provider);
  const enough = new AbortController();
  const acquiring = lock.acquire({ signal: enough.signal, ...h.longLease(provider) });
  const refused = rejection(acquiring);
  await lost;
  enough.abort();
  expect(await refused).toBe(enough.signal.reason);
}

/** Cases for fixtures that can lose an answer. */
export const withdrawnCases: readonly Case[] = [
  [
    "a free lock whose grant was lost on its way to a caller that gave up is free again",
    async (h) => {
      const name = h.name();
      const other = h.lockOf(await h.provider(), name);
      // Now everything exists that is made once for a name.
      await (await other.acquire()).release();
      await giveUpUnanswered(h, name);
      await (await other.acquire({ waitMs: 20_000 })).release();
      await h.untilEmpty(other);
    },
  ],
  [
    "a place in the queue that was lost on its way to a caller that gave up is gone",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const other = h.lockOf(provider, name);
      const held = await other.acquire();
      await giveUpUnanswered(h, name);
      // A backend with leases may drop a waiter that it does not hear of; Redis does so after 3.5 s. A place that is gone before
      // was taken back.
      const limitMs = h.leases(provider) ? 3_000 : 20_000;
      const gone = async () => (await other.inspect()).pending.length === 0;
      await h.until(`no place on ${name}`, gone, limitMs);
      await held.release();
      await h.untilEmpty(other);
    },
  ],
];
