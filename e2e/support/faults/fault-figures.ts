/** `median 312 ms, min 190 ms`. */
export function spread(valuesMs: readonly number[]): string {
  const sorted = [...valuesMs].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const [min = Number.NaN] = sorted;
  return `median ${Math.round(median)} ms, min ${Math.round(min)} ms, max ${Math.round(sorted.at(-1) ?? Number.NaN)} ms`;
}
