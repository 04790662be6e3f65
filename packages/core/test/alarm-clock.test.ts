import { Alarm, AlarmClock } from "@holdfast/core/internal";
import { simulatedRuntime } from "@holdfast/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

class Probe extends Alarm {
  readonly #rung: () => void;
  constructor(rung: () => void) {
    super();
    this.#rung = rung;
  }
  ring(): void {
    this.#rung();
  }
}

const step = fc.record({
  alarm: fc.integer({ min: 0, max: 9 }),
  delayMs: fc.option(fc.integer({ min: 0, max: 50 })),
  passMs: fc.integer({ min: 0, max: 15 }),
});

describe("the alarm clock", () => {
  it("rings each alarm at its last time, and no other, on one timer", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const runtime = simulatedRuntime(1);
        const clock = new AlarmClock(runtime, { ref: true });
        const rung: string[] = [];
        const expected: string[] = [];
        const due = new Map<number, number>();
        const probes = Array.from(
          { length: 10 },
          (_, i) => new Probe(() => rung.push(`${i} at ${Math.round(runtime.nowMs())}`)),
        );
        for (const { alarm, delayMs, passMs } of steps) {
          const probe = probes[alarm] as Probe;
          if (delayMs === null) {
            clock.clear(probe);
            due.delete(alarm);
          } else {
            clock.set(probe, runtime.nowMs() + delayMs);
            due.set(alarm, runtime.nowMs() + delayMs);
          }
          expect(clock.size).toBe(due.size);
          expect(runtime.pendingTimers).toBeLessThanOrEqual(1);
          if (due.size > 0) expect(runtime.pendingTimers).toBe(1);
          const endMs = runtime.nowMs() + passMs;
          for (const [index, atMs] of due) {
            if (atMs > endMs) continue;
            expected.push(`${index} at ${Math.round(atMs)}`);
            due.delete(index);
          }
          await runtime.advance(passMs);
        }
        expect(rung.sort()).toEqual(expected.sort());
      }),
      { numRuns: 60 },
    );
  });

  it("leaves a timer whose alarm has gone where it is, unless that would keep the process alive for long", async () => {
    const runtime = simulatedRuntime(2);
    const loose = new AlarmClock(runtime, { ref: false });
    const holding = new AlarmClock(runtime, { ref: true });
    const probe = new Probe(() => {});
    loose.set(probe, runtime.nowMs() + 5_000);
    loose.clear(probe);
    expect(runtime.pendingTimers).toBe(1);
    loose.close();
    expect(runtime.pendingTimers).toBe(0);
    holding.set(probe, runtime.nowMs() + 5_000);
    holding.clear(probe);
    expect(runtime.pendingTimers).toBe(1);
    await runtime.advance(20);
    expect(runtime.pendingTimers).toBe(0);
    holding.set(probe, runtime.nowMs() + 5_000);
    await runtime.advance(20);
    expect(runtime.pendingTimers).toBe(1);
    holding.clear(probe);
    expect(runtime.pendingTimers).toBe(0);
  });

  it("sets one timer of the runtime for a thousand waits that end soon after each other", async () => {
    const runtime = simulatedRuntime(3);
    let timers = 0;
    const counting = {
      ...runtime,
      setTimer: (...args: Parameters<typeof runtime.setTimer>) => {
        timers++;
        return runtime.setTimer(...args);
      },
    };
    const clock = new AlarmClock(counting, { ref: true });
    const probe = new Probe(() => {});
    for (let i = 0; i < 1_000; i++) {
      clock.set(probe, runtime.nowMs() + 5_000);
      clock.clear(probe);
    }
    expect(timers).toBe(1);
  });
});
