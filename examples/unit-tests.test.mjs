// Unit tests of a service that uses locks: no server, and no waiting.
//
//   npx vitest run unit-tests

import { AcquireTimeoutError, LockLostError, memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Stock } from "./stock.mjs";

/** @type {import("@holdfast/core").LockProvider} */
let locks;
// The fake timers come first: the provider uses the timers that exist when it is made.
beforeEach(() => {
  vi.useFakeTimers();
  locks = memoryLocks();
});
afterEach(async () => {
  await locks.close();
  vi.useRealTimers();
});

test("two buyers of the last item do not both get it", async () => {
  const stock = new Stock(locks, new Map([["apple", 1]]), async () => {});
  const sold = await Promise.all([stock.sell("apple"), stock.sell("apple")]);
  expect(sold.sort()).toEqual([false, true]);
});

test("a buyer gives up when the item is busy for two seconds", async () => {
  const stock = new Stock(locks, new Map([["apple", 1]]), async () => {});
  const other = await locks.mutex("stock/apple").acquire();
  const sold = expect(stock.sell("apple")).rejects.toThrow(AcquireTimeoutError);
  await vi.advanceTimersByTimeAsync(2_000);
  await sold;
  await other.release();
});

test("a sale whose lock is lost ends with an error, and shipping hears of it", async () => {
  /** @type {AbortSignal | undefined} */
  let heard;
  const stock = new Stock(locks, new Map([["apple", 1]]), async (_item, signal) => {
    heard = signal;
    memoryControls(locks).steal("stock/apple"); // as if an operator had forced the lock free
  });
  await expect(stock.sell("apple")).rejects.toThrow(LockLostError);
  expect(heard?.aborted).toBe(true);
});
