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
 * The function that registers tests for which only full runs have the time: `register` itself, or in any other run a function
 * that registers none. A test that is left out must not be reported as skipped. Prints which of the two it is.
 */
export function inFullRuns<T extends (...args: never[]) => unknown>(
  what: string,
  count: number,
  register: T,
): T {
  return share(what, 0, count) > 0 ? register : ((() => {}) as unknown as T);
}

/**
 * Some of the cases, in their order: all of them in a full run, else `part` of them. They are drawn by a seed that is printed
 * with what was drawn, and `HOLDFAST_SEED` draws the same ones again. For cases that differ in one detail, such as the server
 * below them.
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
