import { describe, expect, it } from "vitest";
import { ConcurrencyLimit } from "../../src/recipes/session-context.js";

describe("a concurrency limit", () => {
  it("lets no more through than its limit, and the rest in order", () => {
    const limit = new ConcurrencyLimit(2);
    const passed: number[] = [];
    for (const n of [1, 2, 3, 4]) limit.enter(() => passed.push(n));
    expect(passed).toEqual([1, 2]);
    limit.leave();
    expect(passed).toEqual([1, 2, 3]);
    limit.leave();
    limit.leave();
    expect(passed).toEqual([1, 2, 3, 4]);
    limit.enter(() => passed.push(5));
    expect(passed).toEqual([1, 2, 3, 4, 5]);
  });

  it("bears a hundred thousand in a row who leave as soon as they have passed", () => {
    const limit = new ConcurrencyLimit(1);
    let passed = 0;
    limit.enter(() => {});
    for (let n = 0; n < 100_000; n++) {
      limit.enter(() => {
        passed++;
        limit.leave();
      });
    }
    limit.leave();
    expect(passed).toBe(100_000);
  });

  it("hands two hundred thousand who wait on in no more than a few times what a tenth of them take", () => {
    const onceMs = (many: number): number => {
      const limit = new ConcurrencyLimit(1);
      limit.enter(() => {});
      for (let n = 0; n < many; n++) limit.enter(() => {});
      const since = process.cpuUsage();
      for (let n = 0; n < many; n++) limit.leave();
      const { user, system } = process.cpuUsage(since);
      return (user + system) / 1_000;
    };
    // This is processor time, which other processes do not add to. The best of three runs: one may have met the garbage collector.
    const tookMs = (many: number): number => Math.min(...[1, 2, 3].map(() => onceMs(many)));
    // Ten times as many entries. If each step moved all that wait, this would take a hundred times as long.
    expect(tookMs(200_000)).toBeLessThan(40 * Math.max(2, tookMs(20_000)));
  });
});
