import { describe, expect, it } from "vitest";
import { inSlices, SlicedWork } from "../src/clock/slices.js";

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** The number of items in each turn of the event loop. An item takes `itemMs`, and its microtask takes `afterMs`. */
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

  it("takes half a slice of the turn in which it begins, as the next slice may come in the same turn", async () => {
    const [first, second] = await turnsOf(100, 1, 0);
    expect([first, second]).toEqual([3, 5]);
  });

  it("counts what items leave to microtasks", async () => {
    const turns = await turnsOf(10_000, 0, 0.01);
    expect(Math.max(...turns)).toBeLessThanOrEqual(1_000);
    expect(turns.length).toBeGreaterThan(9);
  });

  it("does fewer items at a time when what they leave to microtasks takes longer than a slice", async () => {
    const [first = 0, second = 0, ...turns] = await turnsOf(3_000, 0, 0.1);
    expect([first, second]).toEqual([200, 100]);
    expect(Math.max(...turns)).toBeLessThanOrEqual(150);
  });

  it("shares the slice of each turn with all other such work", async () => {
    let [nowMs, items, over] = [0, 0, 0];
    const item = (): void => {
      nowMs++;
      items++;
    };
    for (let work = 0; work < 4; work++) inSlices({ nowMs: () => nowMs }, range(100), item, () => over++);
    const turns: number[] = [];
    while (over < 4) {
      const before = items;
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(items - before);
    }
    expect(items).toBe(400);
    expect(Math.max(...turns)).toBeLessThanOrEqual(10);
  });

  it("has its whole slice again after work that has failed", async () => {
    const fails = (): void => {
      throw new Error("of an item");
    };
    for (let work = 0; work < 100; work++)
      expect(() => inSlices({ nowMs: () => 0 }, range(10), fails)).toThrow("of an item");
    const turns = await turnsOf(50, 1, 0);
    expect(turns.length).toBeLessThan(20);
  });

  it("goes on for as long as no time passes, so that a simulation sees one turn", async () => {
    expect(await turnsOf(5_000, 0, 0)).toEqual([5_000]);
  });
});

describe("work that several callers leave", () => {
  it("takes no more of a turn of the event loop together than one work, and is done in order", async () => {
    let nowMs = 0;
    const work = new SlicedWork({ nowMs: () => nowMs });
    const done: number[] = [];
    const turns: number[] = [];
    // In each turn ten callers add five pieces of work of 1 ms, each caller in its own microtask.
    for (let turn = 0; turn < 20; turn++) {
      const before = done.length;
      for (let caller = 0; caller < 10; caller++) {
        for (let thing = 0; thing < 5; thing++) {
          const number = turn * 50 + caller * 5 + thing;
          work.add(() => {
            done.push(number);
            nowMs++;
          });
        }
        await Promise.resolve();
      }
      turns.push(done.length - before);
      await new Promise(setImmediate);
    }
    while (done.length < 1_000) await new Promise(setImmediate);
    expect(Math.max(...turns)).toBeLessThanOrEqual(16);
    expect(done).toEqual(range(1_000));
  });
});
