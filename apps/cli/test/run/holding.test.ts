import { memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { describe, expect, it, vi } from "vitest";
import { Watch } from "../../src/run/holding.js";
import { type Limits, monotonicMs } from "../../src/run/limits.js";

/** The limits that are reported for a doubt that is over within one turn of the event loop, and so between two looks. */
async function brieflyDoubted(rides: boolean): Promise<readonly Limits[]> {
  await using locks = memoryLocks();
  await using hold = await locks.mutex("orders").acquire();
  const told: Limits[] = [];
  const paces = { marginMs: 1_000, killAfterMs: 500 };
  using _watch = new Watch(hold, locks.events, paces, rides, (limits) => told.push(limits));
  const controls = memoryControls(locks);
  controls.suspend();
  controls.reconnect();
  expect(hold.state).toBe("held");
  return told;
}

describe("holdfast run and a doubt that passes between two looks at the hold", () => {
  it("the command is asked to end at once", async () => {
    const [first] = await brieflyDoubted(false);
    expect(first?.termAtMs).toBeLessThanOrEqual(monotonicMs());
  });

  it("with --kill-after nothing ends", async () => {
    for (const { termAtMs, killAtMs } of await brieflyDoubted(true)) {
      expect(termAtMs).toBe(killAtMs - 500);
      expect(termAtMs).toBeGreaterThan(monotonicMs());
    }
  });
});

describe("holdfast run and a wall clock that is set forward", () => {
  it.each([
    ["keeps the last deadline, less the step, while the hold is only in doubt", 150, "uncertain", true],
    [
      "is over at once, where the machine may have slept for longer than the lease",
      60_000,
      "uncertain",
      false,
    ],
    ["is over at once, where the hold is lost", 150, "lost", false],
  ] as const)("the command %s", async (_what, stepMs, state, keeps) => {
    await using locks = memoryLocks();
    await using lock = await locks.mutex("orders").acquire();
    const hold = { ...lock, lost: lock.lost, state: "held" as string, remainingMs: () => 30_000 };
    const told: Limits[] = [];
    const before = monotonicMs();
    using watch = new Watch(
      hold as never,
      locks.events,
      { marginMs: 1_000, killAfterMs: 500 },
      true,
      (limits) => told.push(limits),
    );
    const { killAtMs } = watch.limits;
    expect(killAtMs - before).toBeGreaterThanOrEqual(30_000 - 1_000);
    // The clock that was set goes on: it stays ahead by the step, however late the watch looks at it.
    const { now } = Date;
    using _clock = vi.spyOn(Date, "now").mockImplementation(() => now() + stepMs);
    Object.assign(hold, { state, remainingMs: () => 0 });
    await expect.poll(() => told).not.toEqual([]);
    if (keeps) expect(Math.abs((told[0]?.killAtMs ?? 0) - (killAtMs - stepMs))).toBeLessThan(100);
    else expect(told[0]?.killAtMs).toBeLessThanOrEqual(monotonicMs());
  });
});
