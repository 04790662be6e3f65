import type { Hold, KeyHistory } from "../history/history.js";
import type { Nanos } from "../history/record.js";

/** A stretch in which a worker certainly holds something. */
export interface Span {
  readonly from: Nanos;
  readonly to: Nanos;
  readonly owner: string;
  readonly writes: boolean;
  readonly permits: number;
  readonly hold: Hold;
}

/**
 * The holds as the application knows them: from the return of the acquire to the release, the lost event or the death.
 */
export function believed({ holds }: KeyHistory): Span[] {
  const spans: Span[] = [];
  for (const hold of holds) if (hold.to > hold.from) spans.push(spanOf(hold, hold.from, hold.to));
  return spans;
}

/** The holds as the recipe promised them: like `believed`, but cut where the promised validity ended. */
export function advertised({ holds }: KeyHistory): Span[] {
  const spans: Span[] = [];
  for (const hold of holds) {
    let from = hold.from;
    for (const gap of hold.gaps ?? []) {
      const to = Math.min(gap.from, hold.to);
      if (to > from) spans.push(spanOf(hold, from, to));
      from = Math.max(from, gap.to);
    }
    const to = Math.min(hold.validUntil, hold.to);
    if (to > from) spans.push(spanOf(hold, from, to));
  }
  return spans.sort((a, b) => a.from - b.from);
}

/**
 * Merges nested holds of one owner into one, from the first grant to the last end. Reads merge only with reads and
 * writes with writes: the sweep looks at a read within its owner's write. `spans` must be sorted by `from`.
 */
export function outermost(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  const open = new Map<string, number>();
  for (const span of spans) {
    if (!span.hold.nests) {
      merged.push(span);
      continue;
    }
    const name = span.writes ? span.owner : `${span.owner} reads`;
    const at = open.get(name);
    const outer = at === undefined ? undefined : merged[at];
    if (at !== undefined && outer !== undefined && span.from < outer.to) {
      if (span.to > outer.to) merged[at] = { ...outer, to: span.to, hold: span.hold };
    } else {
      open.set(name, merged.length);
      merged.push(span);
    }
  }
  return merged;
}

const spanOf = (hold: Hold, from: Nanos, to: Nanos): Span => ({
  from,
  to,
  owner: hold.owner,
  writes: hold.mode === "write",
  permits: hold.permits,
  hold,
});
