/** `Math.max` takes no bigints. 0n for none. */
export function highest(values: Iterable<bigint>): bigint {
  let found = 0n;
  for (const value of values) if (value > found) found = value;
  return found;
}
