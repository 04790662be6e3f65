import type { Runtime } from "@holdfast/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LeaseClock } from "../../src/session/lease-clock.js";
import { runtime } from "./support.js";

interface Clocks {
  nowMs: number;
  wallMs: number;
}

function clockAt(clocks: Clocks): LeaseClock {
  const bent: Runtime = { ...runtime, nowMs: () => clocks.nowMs, wallMs: () => clocks.wallMs };
  return new LeaseClock(bent);
}

describe("the lease clock", () => {
  test("promises nothing before a proof and after the end", () => {
    const lease = clockAt({ nowMs: 0, wallMs: 0 });
    expect(lease.untilMs()).toBe(-Infinity);
    lease.prove(lease.stamp(), 4_000);
    expect(lease.untilMs()).toBe(3_900);
    lease.end();
    expect(lease.untilMs()).toBe(-Infinity);
  });

  test("keeps a margin of 100 ms or 2 % of the time-out, whichever is more", () => {
    const lease = clockAt({ nowMs: 0, wallMs: 0 });
    lease.prove({ atMs: 0, wallMs: 0 }, 5_000);
    expect(lease.endMs()).toBe(4_900);
    lease.prove({ atMs: 0, wallMs: 0 }, 40_000);
    expect(lease.endMs()).toBe(39_200);
  });

  test("of a session shorter than 200 ms keeps half of it as the margin", () => {
    const lease = clockAt({ nowMs: 0, wallMs: 0 });
    for (const [timeoutMs, endMs] of [
      [200, 100],
      [150, 75],
      [100, 50],
      [40, 20],
    ] as const) {
      lease.prove({ atMs: 0, wallMs: 0 }, timeoutMs);
      expect(lease.endMs()).toBe(endMs);
    }
  });

  test("ignores a proof older than the one it has", () => {
    const lease = clockAt({ nowMs: 0, wallMs: 0 });
    lease.prove({ atMs: 500, wallMs: 500 }, 2_000);
    lease.prove({ atMs: 400, wallMs: 400 }, 2_000);
    expect(lease.endMs()).toBe(2_400);
  });

  test("is not revived by an answer that is handled after its end", () => {
    const clocks = { nowMs: 0, wallMs: 0 };
    const lease = clockAt(clocks);
    lease.prove({ atMs: 0, wallMs: 0 }, 2_000);
    clocks.nowMs = 1_899;
    lease.prove({ atMs: 500, wallMs: 500 }, 2_000);
    expect({ endMs: lease.endMs(), ranOut: lease.ranOut }).toEqual({ endMs: 2_400, ranOut: false });
    clocks.nowMs = 2_400;
    lease.prove({ atMs: 2_000, wallMs: 2_000 }, 2_000);
    expect({ endMs: lease.endMs(), ranOut: lease.ranOut }).toEqual({ endMs: 2_400, ranOut: true });
  });

  test("believes the shorter time-out of a greeting that proves nothing", () => {
    const lease = clockAt({ nowMs: 0, wallMs: 0 });
    lease.prove({ atMs: 0, wallMs: 0 }, 4_000);
    lease.shorten(2_000);
    expect(lease.endMs()).toBe(1_900);
    lease.shorten(9_000);
    expect(lease.endMs()).toBe(1_900);
  });

  test("promises nothing after a wall clock over 100 ms ahead until a proof sent after it, less the sleep, and never ends by it", () => {
    const clocks = { nowMs: 0, wallMs: 0 };
    const lease = clockAt(clocks);
    lease.prove(lease.stamp(), 4_000);
    clocks.wallMs = 100;
    expect(lease.untilMs()).toBe(3_900);
    clocks.wallMs = 101;
    expect(lease.untilMs()).toBe(-Infinity);
    expect(lease.endMs()).toBe(3_900);
    // This proof was sent after the sleep, and proves an activity from before it.
    lease.prove({ atMs: 0, wallMs: 0 }, 4_000, { atMs: 1, wallMs: 102 });
    expect(lease.untilMs()).toBe(3_799);
    clocks.wallMs = -3_600_000;
    expect(lease.untilMs()).toBe(3_900);
  });

  test("never promises beyond what any proof was sent plus its time-out, whatever the clocks do", () => {
    const step = fc.record({
      passMs: fc.nat(3_000),
      sleepMs: fc.oneof(fc.constant(0), fc.integer({ min: -5_000, max: 5_000 })),
      answered: fc.boolean(),
      timeoutMs: fc.integer({ min: 300, max: 40_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const clocks = { nowMs: 0, wallMs: 1_000_000 };
        const lease = clockAt(clocks);
        let latest = -Infinity;
        for (const { passMs, sleepMs, answered, timeoutMs } of steps) {
          const sent = lease.stamp();
          clocks.nowMs += passMs;
          clocks.wallMs += passMs + sleepMs;
          if (answered) {
            // An answer after the end of the lease counts for nothing.
            if (!lease.ranOut) latest = sent.atMs + timeoutMs;
            lease.prove(sent, timeoutMs);
          }
          expect(lease.untilMs()).toBeLessThanOrEqual(latest - (latest === -Infinity ? 0 : 100));
          expect(lease.untilMs()).toBeLessThanOrEqual(lease.endMs());
        }
      }),
    );
  });
});
