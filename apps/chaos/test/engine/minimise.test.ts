import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { minimise } from "../../src/engine/minimise.js";

const always = (): boolean => true;

/** Some of the numbers below `count`. */
const partOf = (count: number): fc.Arbitrary<number[]> =>
  fc.subarray(Array.from({ length: count }, (_, at) => at));
const wholeAndGuilty = fc
  .integer({ min: 1, max: 40 })
  .chain((count) => fc.tuple(fc.constant(Array.from({ length: count }, (_, at) => at)), partOf(count)));

describe("minimising", () => {
  it("leaves exactly what is needed together, whatever that is and wherever it stands", async () => {
    await fc.assert(
      fc.asyncProperty(wholeAndGuilty, async ([whole, guilty]) => {
        const left = await minimise(
          whole,
          async (part) => guilty.every((each) => part.includes(each)),
          always,
        );
        expect(left).toEqual(guilty);
      }),
    );
  });

  it("leaves nothing where nothing is needed, and all where all are", async () => {
    expect(await minimise([1, 2, 3], async () => true, always)).toEqual([]);
    expect(await minimise([1, 2, 3], async ({ length }) => length === 3, always)).toEqual([1, 2, 3]);
    expect(await minimise([], async () => true, always)).toEqual([]);
  });

  it("asks only for parts in their order, each shorter than the smallest that showed it, and never for more than it may", async () => {
    await fc.assert(
      fc.asyncProperty(wholeAndGuilty, fc.nat(12), async ([whole, guilty], most) => {
        let smallest = whole.length;
        let asked = 0;
        const left = await minimise(
          whole,
          async (part) => {
            asked += 1;
            expect(part.length).toBeLessThan(smallest);
            expect(part).toEqual(part.toSorted((a, b) => a - b));
            const shows = guilty.every((each) => part.includes(each));
            if (shows) smallest = part.length;
            return shows;
          },
          () => asked < most,
        );
        expect(asked).toBeLessThanOrEqual(most);
        expect(left).toHaveLength(smallest);
      }),
    );
  });

  it("finds one of twenty in at most twelve tries", async () => {
    const whole = Array.from({ length: 20 }, (_, at) => at);
    for (const guilty of whole) {
      let asked = 0;
      const left = await minimise(
        whole,
        async (part) => {
          asked += 1;
          return part.includes(guilty);
        },
        always,
      );
      expect(left).toEqual([guilty]);
      expect(asked).toBeLessThanOrEqual(12);
    }
  });

  it("ends with a part that was seen to show it where some parts show it only at times", async () => {
    await fc.assert(
      fc.asyncProperty(wholeAndGuilty, fc.infiniteStream(fc.boolean()), async ([whole, guilty], coin) => {
        const shown: (readonly number[])[] = [whole];
        const left = await minimise(
          whole,
          async (part) => {
            const shows = guilty.every((each) => part.includes(each)) && coin.next().value === true;
            if (shows) shown.push(part);
            return shows;
          },
          always,
        );
        expect(shown).toContainEqual(left);
        expect(left).toEqual(expect.arrayContaining(guilty));
      }),
    );
  });
});
