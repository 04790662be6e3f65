import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Activity } from "../../src/session/lease-clock.js";

const at = (atMs: number) => ({ atMs, wallMs: 0 });

/** Activity on one connection at these moments, with a time-out of 4,000 ms. */
function activityAt(...moments: number[]): Activity {
  const activity = new Activity();
  activity.restart(at(0));
  for (const moment of moments) activity.sent(at(moment), 4_000);
  return activity;
}

describe("what a proof counts", () => {
  test("is the last activity of at least a quarter of the time-out before it was sent", () => {
    expect(activityAt(500, 1_500, 1_999, 2_400).countedBy(at(3_000), 4_000)?.atMs).toBe(1_999);
    expect(activityAt(500, 2_000).countedBy(at(3_000), 4_000)?.atMs).toBe(2_000);
  });

  test("is the greeting, when there was nothing else so early", () => {
    expect(activityAt(500).countedBy(at(1_200), 4_000)?.atMs).toBe(0);
  });

  test("is nothing on a connection whose greeting is unknown, or too young", () => {
    const adopted = new Activity();
    adopted.restart(null);
    adopted.sent(at(100), 4_000);
    expect(adopted.countedBy(at(1_099), 4_000)).toBeNull();
    expect(adopted.countedBy(at(1_100), 4_000)?.atMs).toBe(100);
    expect(activityAt().countedBy(at(999), 4_000)).toBeNull();
  });

  test("is nothing of an earlier connection", () => {
    const activity = activityAt(500, 1_000);
    activity.restart(at(5_000));
    expect(activity.countedBy(at(5_500), 4_000)).toBeNull();
  });

  test("is never younger than a quarter, never older than what was counted before, and close to the best", () => {
    const steps = fc.array(fc.record({ passMs: fc.nat(900), proof: fc.boolean() }), { maxLength: 80 });
    fc.assert(
      fc.property(steps, (taken) => {
        const activity = activityAt();
        const sent = [0];
        let nowMs = 0;
        let countedMs = -1;
        for (const { passMs, proof } of taken) {
          nowMs += passMs;
          activity.sent(at(nowMs), 4_000);
          sent.push(nowMs);
          if (!proof) continue;
          const counted = activity.countedBy(at(nowMs), 4_000);
          const best = sent.filter((moment) => moment <= nowMs - 1_000).at(-1);
          expect(counted === null).toBe(best === undefined);
          if (counted === null || best === undefined) continue;
          expect(counted.atMs).toBeLessThanOrEqual(best);
          expect(counted.atMs).toBeGreaterThan(best - 63);
          expect(counted.atMs).toBeGreaterThanOrEqual(countedMs);
          countedMs = counted.atMs;
        }
      }),
    );
  });
});
