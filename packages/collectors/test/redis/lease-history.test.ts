import { describe, expect, it } from "vitest";
import { LeaseHistory } from "../../src/redis/lease-history.js";

/** Reads a lease each half second. `leftAt`: the time left. `stepAt`: how far the wall clock was set forward or back by then. */
function followed(leftAt: (ms: number) => number, forMs: number, stepAt = (_ms: number) => 0): string[] {
  const lease = new LeaseHistory(leftAt(0), 0);
  const states = [lease.state as string];
  for (let ms = 500; ms <= forMs; ms += 500) {
    lease.read(leftAt(ms), { readMs: ms, atMs: ms + stepAt(ms), blurMs: 5 });
    if (states.at(-1) !== lease.state) states.push(lease.state);
  }
  return states;
}

describe("what a lease shows of itself", () => {
  it("is renewing where it goes up again at each third", () => {
    expect(followed((ms) => 30_000 - (ms % 10_000), 60_000)).toEqual(["unknown", "renewing"]);
  });

  it("is renewing from whatever moment it was first seen", () => {
    expect(followed((ms) => 30_000 - ((ms + 9_700) % 10_000), 60_000)).toEqual(["unknown", "renewing"]);
  });

  it("is fixed while no client raises it", () => {
    expect(followed((ms) => 60_000 - ms, 59_000)).toEqual(["unknown", "fixed"]);
  });

  it("is fixed while no client raises it, though the wall clock of the reader is set forward", () => {
    const forward = (ms: number): number => (ms < 20_000 ? 0 : 1_000);
    expect(followed((ms) => 60_000 - ms, 59_000, forward)).toEqual(["unknown", "fixed"]);
  });

  it("is renewing where it goes up at each third, though the wall clock of the reader is set back by an hour", () => {
    const back = (ms: number): number => (ms < 5_000 ? 0 : -3_600_000);
    expect(followed((ms) => 30_000 - (ms % 10_000), 60_000, back)).toEqual(["unknown", "renewing"]);
  });

  it("is not renewing once it falls below two thirds after it was raised", () => {
    const raisedTwice = (ms: number): number => 30_000 - (ms < 20_000 ? ms % 10_000 : ms - 20_000);
    expect(followed(raisedTwice, 45_000)).toEqual(["unknown", "renewing", "not-renewing"]);
  });

  it("is renewing again when a raise comes late", () => {
    const late = (ms: number): number =>
      30_000 - (ms < 20_000 ? ms % 10_000 : ms < 35_000 ? ms - 20_000 : (ms - 35_000) % 10_000);
    expect(followed(late, 60_000)).toEqual(["unknown", "renewing", "not-renewing", "renewing"]);
  });

  it("never expires without a TTL", () => {
    expect(followed(() => -1, 5_000)).toEqual(["never-expires"]);
  });

  it("takes the blur of a slow reading for no raise", () => {
    const lease = new LeaseHistory(10_000, 0);
    expect(lease.read(10_000 - 100, { readMs: 800, atMs: 800, blurMs: 700 })).toBe(false);
    expect(lease.read(9_900, { readMs: 1_600, atMs: 1_600, blurMs: 5 })).toBe(true);
  });
});
