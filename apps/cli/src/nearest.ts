/** The one of `names` that is written most like `typed`; `undefined` when none is near. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => ({ name, far: distance(typed.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.far - b.far);
  return best !== undefined && best.far <= Math.max(1, Math.floor(best.name.length / 2))
    ? best.name
    : undefined;
}

/** Levenshtein's: how many letters to insert, delete or replace. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, (row[j - 1] as number) + same));
    }
    row = next;
  }
  return row[to.length] as number;
}
