import { expect } from "vitest";

/** Polls until the condition is true. Beside other tests on a busy machine this may take longer than the usual second. */
export function soon<T>(ask: () => T, timeout = 15_000): ReturnType<typeof expect.poll<T>> {
  return expect.poll(ask, { timeout, interval: 20 });
}
