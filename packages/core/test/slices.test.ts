import { describe, expect, it } from "vitest";
import { inSlices } from "../src/clock/slices.js";

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** How many items each turn of the event loop did, where an item takes `itemMs`, and its microtask `afterMs`. */
async function turnsOf(count: number, itemMs: number, afterMs: number): Promise<number[]> {
  let nowMs = 0;
  const turns: number[] = [];
  const seen: number[] = [];
  await new Promise<void>((resolve) => {
    let going = true;
    let before = 0;
    const turn = (): void => {
      turns.push(seen.length - before);
      before = seen.length;
      if (going) setImmediate(turn);
      else resolve();
    };
    setImmediate(turn);
    inSlices(
      { nowMs: () => nowMs },
      range(count),
      (item) => {
        seen.push(item);
        nowMs += itemMs;
        queueMicrotask(() => {
          nowMs += afterMs;
        });
      },
      () => {
        going = false;
      },
    );
  });
  expect(seen).toEqual(range(count));
  return turns.filter((items) => items > 0);
}

describe("work in slices", () => {
  it("does few items, and then what follows them, before it returns", () => {
    const done: (number | string)[] = [];
    inSlices(
      { nowMs: () => 0 },
      range(3),
      (item) => done.push(item),
      () => done.push("done"),
    );
    expect(done).toEqual([0, 1, 2, "done"]);
  });

  it("leaves the rest of long work to later turns of the event loop, in order", async () => {
    const turns = await turnsOf(100, 1, 0);
    expect(Math.max(...turns)).toBeLessThanOrEqual(8);
  });

  it("counts what items leave to microtasks", async () => {
    const turns = await turnsOf(10_000, 0, 0.01);
    expect(Math.max(...turns)).toBeLessThanOrEqual(1_000);
    expect(turns.length).toBeGreaterThan(9);
  });

  it("goes on for as long as no time passes, so that a simulation sees one turn", async () => {
    expect(await turnsOf(5_000, 0, 0)).toEqual([5_000]);
  });
});
