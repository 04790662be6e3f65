import { Turns } from "./turns.js";

/** How many items are sorted without a break, which takes some tenths of a millisecond. */
const runLength = 256;

/** Like `toSorted`, for very many items: other work can run meanwhile. */
export async function sortInTurns<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const turns = new Turns();
  const count = items.length;
  let from: T[] = [];
  for (let at = 0; at < count; at += runLength) {
    for (const item of items.slice(at, at + runLength).sort(compare)) from.push(item);
    if (turns.isOver()) await turns.next();
  }
  for (let width = runLength; width < count; width *= 2) {
    const to: T[] = [];
    for (let left = 0; left < count; left += 2 * width) {
      const middle = Math.min(left + width, count);
      const end = Math.min(left + 2 * width, count);
      let [a, b] = [left, middle];
      while (a < middle || b < end) {
        const one = from[a] as T;
        const other = from[b] as T;
        if (b >= end || (a < middle && compare(one, other) <= 0)) {
          to.push(one);
          a += 1;
        } else {
          to.push(other);
          b += 1;
        }
        if (turns.isOver()) await turns.next();
      }
    }
    from = to;
  }
  return from;
}
