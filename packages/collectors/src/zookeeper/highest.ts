/** The highest of the values, 0n for none: `Math.max` takes no bigints. */
export function highest(values: Iterable<bigint>): bigint {
  let found = 0n;
  for (const value of values) if (value > found) found = value;
  return found;
}
