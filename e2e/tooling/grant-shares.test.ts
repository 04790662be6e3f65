import { expect, it } from "vitest";
import { grantShares } from "../support/redisson/grant-shares.js";

const options = { boutMs: 4_000, sleepMs: 5_000, leastShare: 0.1 };

/** Bouts of four contenders, of which the last one has these grants and longest waits. */
async function sharesWith(bouts: readonly { readonly grants: number; readonly longestWaitMs: number }[]) {
  const left = [...bouts];
  const rival = { grants: 100, longestWaitMs: 30 };
  const { had, shares, contendedMs } = await grantShares(async () => {
    const last = left.shift();
    if (last === undefined) throw new Error("no further bout is due");
    return [rival, rival, rival, last];
  }, options);
  return { had: had[3], share: shares[3], contendedMs };
}

it("one bout shows the shares where each contender has enough grants", async () => {
  const { share, contendedMs } = await sharesWith([{ grants: 100, longestWaitMs: 30 }]);
  expect([share, contendedMs]).toEqual([0.25, 4_000]);
});

it("a contender that slept through most of a bout has its share after another one", async () => {
  const { had, share, contendedMs } = await sharesWith([
    { grants: 20, longestWaitMs: 5_000 },
    { grants: 100, longestWaitMs: 30 },
  ]);
  expect(had).toEqual({ grants: 120, longestWaitMs: 5_000 });
  expect(share).toBeGreaterThan(options.leastShare);
  expect(contendedMs).toBe(8_000);
});

it("a contender that never has enough grants is starved after the time of four sleeps", async () => {
  const few = Array.from({ length: 5 }, () => ({ grants: 20, longestWaitMs: 800 }));
  const { share, contendedMs } = await sharesWith(few);
  expect(share).toBeLessThan(options.leastShare);
  expect(contendedMs).toBe(20_000);
});
