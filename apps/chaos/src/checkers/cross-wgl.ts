import type { History } from "../history/history.js";
import { Examples, seconds } from "./examples.js";
import { isSemaphore } from "./kinds.js";
import type { CheckOptions } from "./options.js";
import { believed, outermost, type Span } from "./spans.js";
import { clashes, sums } from "./sweep.js";
import type { CheckResult } from "./verdict.js";
import { linearizable } from "./wgl.js";

const windowSpans = 24;
const windowsOfEachKey = 6;

/**
 * The sweep and a search that knows nothing of it must agree on samples of every key. A violation is a bug of ours.
 * `sweep` is what is held against the search: the self-test hands in wrong ones, which must be convicted.
 */
export function crossWgl(
  history: History,
  _options: CheckOptions = {},
  sweep: typeof sweepAllows = sweepAllows,
): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let tooHard = 0;
  for (const about of history.keys.values()) {
    if (about.meta.kind === "latch" || about.operations.some(({ f }) => f === "resize")) continue;
    const limit = isSemaphore(about) ? (about.meta.limit ?? 1) : null;
    for (const spans of samples(believed(about), limit)) {
      const bySweep = sweep(spans, limit);
      const bySearch = linearizable(spans, limit);
      if (bySearch === "too hard") {
        tooHard += 1;
        continue;
      }
      judged += 1;
      if (bySweep === (bySearch === "yes")) continue;
      examples.add(
        spans.map(({ hold }) => hold.grant),
        () =>
          `${about.key}: from ${seconds(spans[0]?.from ?? 0)} the sweep says ${bySweep ? "legal" : "illegal"}, the search the opposite`,
      );
    }
  }
  return examples.result("cross-wgl", { judged, what: "samples", metrics: { tooHard } });
}

/** What the sweep says of a few spans, sorted by `from`. */
export function sweepAllows(spans: readonly Span[], limit: number | null): boolean {
  let legal = true;
  if (limit === null) {
    clashes(outermost(spans), () => {
      legal = false;
    });
  } else {
    sums(spans, (_span, permits) => {
      if (permits > limit) legal = false;
    });
  }
  return legal;
}

/** Spread over the run, and one around the first clash. */
function samples(spans: readonly Span[], limit: number | null): Span[][] {
  const starts = new Set<number>();
  const last = Math.max(0, spans.length - windowSpans);
  for (let n = 0; n < windowsOfEachKey; n++) starts.add(Math.round((last * n) / (windowsOfEachKey - 1)));
  let clash: Span | null = null;
  if (limit === null) {
    clashes(outermost(spans), (witness) => {
      clash ??= witness().second;
    });
  }
  if (clash !== null) starts.add(Math.max(0, spans.indexOf(clash) - windowSpans + 2));
  return [...starts].map((from) => spans.slice(from, from + windowSpans)).filter(({ length }) => length > 0);
}
