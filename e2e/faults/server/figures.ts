/** Formats times as `median 3.1 ms, max 9.0 ms (n = 20)`. */
export function spread(values: readonly number[]): string {
  return `median ${median(values).toFixed(1)} ms, max ${Math.max(...values).toFixed(1)} ms (n = ${values.length})`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
