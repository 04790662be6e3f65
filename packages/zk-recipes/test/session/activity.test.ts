import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Activity } from "../../src/session/lease-clock.js";

const at = (atMs: number) => ({ atMs, wallMs: 0 });

/** Activity on one connection at these moments, each answered at once, with a time-out of 4,000 ms. */
function activityAt(...moments: number[]): Activity {
  const activity = new Activity();
  activity.restart(at(0), 0);
  for (const moment of moments) {
    activity.sent(at(moment), 4_000);
    activity.answered(moment, moment);
  }
  return activity;
}

describe("what a proof counts", () => {
  test("is the last activity that was answered at least a quarter of the time-out before it was sent", () => {
    expect(activityAt(500, 1_500, 1_999, 2_400).countedBy(at(3_000), 4_000)?.atMs).toBe(1_999);
    expect(activityAt(500, 2_000).countedBy(at(3_000), 4_000)?.atMs).toBe(2_000);
  });

  test("is nothing that was sent so long before it and answered later, as both may have arrived together", () => {
    const activity = activityAt();
    for (const sentMs of [1_000, 2_000]) activity.sent(at(sentMs), 4_000);
    expect(activity.countedBy(at(2_000), 4_000)?.atMs).toBe(0);
    for (const sentMs of [1_000, 2_000]) activity.answered(sentMs, 2_310);
    expect(activity.countedBy(at(3_309), 4_000)?.atMs).toBe(0);
    expect(activity.countedBy(at(3_310), 4_000)?.atMs).toBe(2_000);
  });

  test("is shown by the answer to a later request too, and not by that to an earlier one", () => {
    const activity = activityAt();
    for (const sentMs of [500, 1_000, 1_500]) activity.sent(at(sentMs), 4_000);
    activity.answered(1_000, 1_600);
    expect(activity.countedBy(at(2_600), 4_000)?.atMs).toBe(1_000);
    expect(activity.countedBy(at(9_000), 4_000)?.atMs).toBe(1_000);
  });

  test("is the greeting, when there was nothing else so early", () => {
    expect(activityAt(500).countedBy(at(1_200), 4_000)?.atMs).toBe(0);
  });

  test("is nothing on a connection whose greeting is unknown, or answered too late", () => {
    const adopted = new Activity();
    adopted.restart(null, 50);
    adopted.sent(at(100), 4_000);
    adopted.answered(100, 110);
    expect(adopted.countedBy(at(1_109), 4_000)).toBeNull();
    expect(adopted.countedBy(at(1_110), 4_000)?.atMs).toBe(100);
    const greeted = new Activity();
    greeted.restart(at(0), 20);
    expect(greeted.countedBy(at(1_019), 4_000)).toBeNull();
    expect(greeted.countedBy(at(1_020), 4_000)?.atMs).toBe(0);
  });

  test("is nothing of an earlier connection", () => {
    const activity = activityAt(500, 1_000);
    activity.restart(at(5_000), 5_010);
    expect(activity.countedBy(at(5_500), 4_000)).toBeNull();
  });

  test("is never answered within a quarter, never older than what was counted before, and close to the best", () => {
    const step = fc.record({ passMs: fc.nat(900), lateMs: fc.nat(900), proof: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (taken) => {
        const activity = activityAt();
        const sent = [{ atMs: 0, answeredMs: 0 }];
        let answered = 1;
        let nowMs = 0;
        let countedMs = -1;
        for (const { passMs, lateMs, proof } of taken) {
          nowMs += passMs;
          for (const { atMs, answeredMs } of sent.slice(answered)) {
            if (answeredMs > nowMs) break;
            activity.answered(atMs, answeredMs);
            answered += 1;
          }
          activity.sent(at(nowMs), 4_000);
          const inOrderMs = sent.at(-1)?.answeredMs ?? 0;
          sent.push({ atMs: nowMs, answeredMs: Math.max(inOrderMs, nowMs + lateMs) });
          if (!proof) continue;
          const counted = activity.countedBy(at(nowMs), 4_000);
          const best = sent.findLast(({ answeredMs }) => answeredMs <= nowMs - 1_000)?.atMs;
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

describe("when a proof can count more than what counts so far", () => {
  test("is a quarter of the time-out after the answer to the first activity that is newer", () => {
    const activity = activityAt(500, 700);
    expect(activity.countsMoreFromMs(-Infinity, 4_000)).toBe(1_000);
    expect(activity.countsMoreFromMs(0, 4_000)).toBe(1_500);
    expect(activity.countsMoreFromMs(500, 4_000)).toBe(1_700);
  });

  test("is not known before that is answered", () => {
    const activity = activityAt();
    activity.sent(at(500), 4_000);
    expect(activity.countsMoreFromMs(0, 4_000)).toBe(Infinity);
    activity.answered(500, 800);
    expect(activity.countsMoreFromMs(0, 4_000)).toBe(1_800);
  });
});
