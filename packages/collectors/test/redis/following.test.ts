import { expect, test } from "vitest";
import type { CollectorEvent } from "../../src/index.js";
import { followHolders } from "../../src/redis/following.js";
import { LockRecord } from "../../src/redis/lock-record.js";
import type { Reading, Shape } from "../../src/redis/reading.js";

const holder = "0c1b9c2e-3b0a-4c5d-9e6f-112233445566:1";

/** Readings of one lock, as [moment, left of the lease]; the last one finds it gone. What is told of its end. */
function endOf(...readings: readonly (readonly [atMs: number, leftMs: number])[]): boolean | undefined {
  const record = new LockRecord("k", null);
  const events: CollectorEvent[] = [];
  for (const [at, [atMs, leftMs]] of readings.entries()) {
    const gone = at === readings.length - 1;
    const shape: Shape = gone
      ? { is: "nothing" }
      : { is: "lock", fields: [{ field: holder, count: 1 }], mode: null };
    const reading: Reading = {
      key: "k",
      atMs,
      blurMs: 0,
      depth: "slim",
      shape,
      leftMs,
      token: null,
      denied: null,
      beside: null,
    };
    followHolders(record, reading, true, (event) => events.push(event));
    record.atMs = atMs;
    record.leftMs = leftMs;
  }
  const [end] = events.filter((event) => event.type === "released");
  return end?.type === "released" ? end.ranOut : undefined;
}

test("a hold that was seen in its last moment, and is gone after its end, ran out", () => {
  expect(endOf([0, 1_500], [900, 600], [1_500, -2])).toBe(true);
});

test("one that is gone before its end was given back", () => {
  expect(endOf([0, 1_500], [900, 600], [1_499, -2])).toBe(false);
});

test("one that was not looked at for long before its end may have been given back", () => {
  expect(endOf([0, 30_000], [40_000, -2])).toBe(false);
});

test("one that used to be raised, and was not in time, ran out however long nobody looked", () => {
  const raised = [
    [0, 30_000],
    [10_100, 29_900],
    [20_200, 29_900],
    [30_300, 29_900],
  ] as const;
  // Not raised at 40,400, nor by 47,000: a third of the lease later.
  expect(endOf(...raised, [47_000, 13_200], [61_000, -2])).toBe(true);
  expect(endOf(...raised, [31_000, 29_200], [61_000, -2])).toBe(false);
});

test("one without an end never runs out", () => {
  expect(endOf([0, -1], [100_000, -2])).toBe(false);
});
