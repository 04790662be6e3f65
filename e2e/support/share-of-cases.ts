import { seededRandom } from "@holdfast/core/testing";

const fullRun = process.env.HOLDFAST_FULL === "1";

export interface Share {
  /** Whether a case is run. To be called once for each case. */
  chosen(title: string): boolean;
  /** To be called when all cases have been asked for. */
  print(): void;
}

/**
 * Runs this part of the cases, drawn by a seed that is printed: `HOLDFAST_SEED` draws the same ones again. A full run takes all
 * of them, and so does a `part` of 1.
 */
export function sharePrinted(what: string, part: number): Share {
  const seed = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const draw = seededRandom(seed);
  let asked = 0;
  let taken = 0;
  return {
    chosen() {
      asked++;
      // The first case is always taken. Of few cases chance might take none, and a suite without a test is an error of its own.
      const takes = draw() < part || asked === 1 || fullRun;
      if (takes) taken++;
      return takes;
    },
    print: () => console.log(`share ${taken}/${asked} cases of conformance: ${what}, seed ${seed}`),
  };
}
