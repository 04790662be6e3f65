// A test of a service that uses locks. `describe`, `it` and `expect` are globals here in both vitest and jest.
import { memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";

describe("a service under test", () => {
  it("holds a lock, hears of its loss and closes", async () => {
    const locks = memoryLocks();
    const lock = await locks.mutex("orders/17").acquire({ waitMs: 1_000 });
    expect(memoryControls(locks).steal("orders/17")).toBe(true);
    expect(lock.lost.aborted).toBe(true);
    expect(await locks.close()).toEqual({ released: 0, unconfirmed: [] });
  });
});
