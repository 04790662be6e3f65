import { expect, it } from "vitest";
import { nextTurn } from "../../src/core/turns.js";

it("of several walks at the same time one goes on in each turn of the event loop, in the order in which they asked", async () => {
  let turns = 0;
  let counts = true;
  const count = (): void => {
    turns += 1;
    if (counts) setImmediate(count);
  };
  setImmediate(count);
  const walk = async (): Promise<number[]> => {
    const at: number[] = [];
    for (let slice = 0; slice < 3; slice++) {
      await nextTurn();
      at.push(turns);
    }
    return at;
  };
  const [first = [], second = [], third = []] = await Promise.all([walk(), walk(), walk()]);
  counts = false;
  const all = [...first, ...second, ...third];
  expect(new Set(all).size).toBe(all.length);
  expect(all.toSorted((a, b) => a - b)).toEqual(
    first.flatMap((at, slice) => [at, second[slice], third[slice]]),
  );
});
