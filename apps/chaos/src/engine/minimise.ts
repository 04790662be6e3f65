/**
 * Delta debugging (ddmin of Zeller and Hildebrandt): finds a part of `whole`, in its order, that still shows what
 * `whole` shows. It tries halves first, then ever smaller pieces, each alone and each left out, until no single element
 * can be left out. At the very end it tries the empty list.
 * `more` is asked before each try. If it says no, the result is the smallest part that was seen to show it. If a part
 * does not give the same answer each time, the result may be larger than needed, but was always seen to show it.
 */
export async function minimise<T>(
  whole: readonly T[],
  shows: (part: readonly T[]) => Promise<boolean>,
  more: () => boolean,
): Promise<readonly T[]> {
  let left = whole;
  for (let pieces = 2; left.length > 1; ) {
    const found = await smaller(left, pieces, shows, more);
    if (found !== null) {
      left = found.part;
      pieces = found.without ? Math.max(2, pieces - 1) : 2;
    } else {
      if (pieces >= left.length || !more()) return left;
      pieces = Math.min(left.length, pieces * 2);
    }
  }
  return left.length === 1 && more() && (await shows([])) ? [] : left;
}

async function smaller<T>(
  whole: readonly T[],
  pieces: number,
  shows: (part: readonly T[]) => Promise<boolean>,
  more: () => boolean,
): Promise<{ readonly part: readonly T[]; readonly without: boolean } | null> {
  const bounds = Array.from({ length: pieces + 1 }, (_, at) => Math.floor((at * whole.length) / pieces));
  const ranges = bounds.slice(1).map((to, at) => [bounds[at] ?? 0, to] as const);
  for (const [from, to] of ranges) {
    const part = whole.slice(from, to);
    if (!more()) return null;
    if (await shows(part)) return { part, without: false };
  }
  // With two pieces, leaving out one is the same as taking the other alone.
  if (pieces === 2) return null;
  for (const [from, to] of ranges) {
    const part = [...whole.slice(0, from), ...whole.slice(to)];
    if (!more()) return null;
    if (await shows(part)) return { part, without: true };
  }
  return null;
}
