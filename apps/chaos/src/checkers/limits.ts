import type { KeyHistory, Operation } from "../history/history.js";
import type { Nanos } from "../history/record.js";

/**
 * The largest number of permits that may have been in effect at some moment from `from` to `to`. A resize may be in
 * effect from its invocation on. Once it has succeeded, it has certainly replaced the numbers before it.
 */
export function limitAround(about: KeyHistory, from: Nanos, to: Nanos): number {
  let possible = [{ permits: about.meta.limit ?? 1, endedAt: Number.NEGATIVE_INFINITY }];
  for (const resize of resizesOf(about)) {
    if (resize.invokedAt > to) break;
    const replaces = resize.outcome === "ok" && resize.endedAt <= from;
    const left = replaces ? possible.filter(({ endedAt }) => endedAt > resize.invokedAt) : possible;
    possible = [...left, { permits: resize.permits, endedAt: resize.endedAt }];
  }
  return Math.max(...possible.map(({ permits }) => permits));
}

const resizes = new WeakMap<KeyHistory, readonly Operation[]>();

function resizesOf(about: KeyHistory): readonly Operation[] {
  let list = resizes.get(about);
  if (list === undefined) {
    list = about.operations.filter(({ f, outcome }) => f === "resize" && outcome !== "fail");
    resizes.set(about, list);
  }
  return list;
}
