import { expect, test } from "vitest";
import { boundOf, bucketOf, countIn, percentileOf, percentileOfBoth } from "../../src/history/tally.js";

test("a bucket's bound is never below what is in it, and at most 19 % above", () => {
  for (let ms = 1; ms < 3_000_000_000; ms = Math.ceil(ms * 1.07)) {
    const bound = boundOf(bucketOf(ms));
    if (ms <= 2 ** 31) expect(bound).toBeGreaterThanOrEqual(ms - 1e-6);
    expect(bound).toBeLessThanOrEqual(Math.max(1, ms * 1.19));
  }
});

test("percentiles of two histograms are those of all measurements together", () => {
  const one: number[] = [];
  const other: number[] = [];
  const both: number[] = [];
  const values = Array.from({ length: 500 }, (_, at) => ((at * 7_919) % 5_000) + 1);
  for (const [at, ms] of values.entries()) {
    countIn(at % 3 === 0 ? one : other, bucketOf(ms), 1);
    countIn(both, bucketOf(ms), 1);
  }
  values.sort((a, b) => a - b);
  for (const share of [0.01, 0.5, 0.9, 0.99, 1]) {
    const exact = values[Math.max(0, Math.ceil(values.length * share) - 1)] as number;
    expect(percentileOfBoth(one, other, share)).toBe(boundOf(bucketOf(exact)));
    expect(percentileOf(both, share)).toBe(boundOf(bucketOf(exact)));
  }
  expect(percentileOfBoth([], [], 0.5)).toBeNull();
});
