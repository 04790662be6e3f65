import { expect } from "vitest";

/** Polls until it is so; on a machine that is busy with other tests that takes longer than the usual second. */
export function soon<T>(ask: () => T, timeout = 15_000): ReturnType<typeof expect.poll<T>> {
  return expect.poll(ask, { timeout, interval: 20 });
}
