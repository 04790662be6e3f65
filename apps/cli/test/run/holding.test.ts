import { memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { Watch } from "../../src/run/holding.js";
import { type Limits, monotonicMs } from "../../src/run/limits.js";

/** The limits that `holdfast run` hears of a doubt that is over within one turn of the event loop, and so between two looks. */
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
