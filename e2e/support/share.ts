import { seededRandom } from "@holdfast/core/testing";

const fullRun = process.env.HOLDFAST_FULL === "1";

/**
 * How many of `full` this run does: all of them in a full run, else `part`. Prints the share, so that a
 * reader of the log sees what a green run has and has not shown.
 */
export function share(what: string, part: number, full: number): number {
  const count = fullRun ? full : part;
  console.log(`share ${count}/${full} ${what}`);
  return count;
}

/**
 * What registers tests that only full runs have the time for: `register`, or in any other run a function that registers none, since a test that is
 * left out is not one that was skipped. Prints which.
 */
export function inFullRuns<T extends (...args: never[]) => unknown>(
  what: string,
  count: number,
  register: T,
): T {
  return share(what, 0, count) > 0 ? register : ((() => {}) as unknown as T);
}

/**
 * So many of the cases, in their order: all of them in a full run, else drawn by a seed that is printed with what was drawn.
 * `HOLDFAST_SEED` draws the same ones again. For cases that differ in one detail, such as the server below them.
 */
export function drawn<T>(
  what: string,
  cases: readonly T[],
  part: number,
  name: (each: T) => string,
): readonly T[] {
  const seed = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const random = seededRandom(seed);
  const left = new Set(cases);
  const count = fullRun ? cases.length : part;
  while (left.size > count) left.delete([...left][Math.floor(random() * left.size)] as T);
  console.log(`share ${left.size}/${cases.length} ${what}, seed ${seed}: ${[...left].map(name).join(", ")}`);
  return [...left];
}
