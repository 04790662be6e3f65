import type { History, KeyHistory } from "../history/history.js";
import { Examples, seconds } from "./examples.js";
import { isSemaphore } from "./kinds.js";
import type { CheckOptions } from "./options.js";
import { believed, outermost, type Span } from "./spans.js";
import { excerptOf, grantedAs, stepsOf } from "./steps.js";
import { clashes, sums } from "./sweep.js";
import type { CheckResult } from "./verdict.js";
import { linearizable } from "./wgl.js";

const windowHolds = 24;
const windowsOfEachKey = 6;

/**
 * Checks the checkers on samples of every key. The sweep over holds must agree with a search over the recorded
 * operations, which uses neither holds nor the sweep. A violation is a bug of the chaos runner. `sweep` is compared
 * with the search; the self-test passes wrong sweeps, which must be convicted.
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
    const spans = believed(about);
    const windows = samples(about, spans, limit);
    const excerpt = excerptOf(about, new Set(windows.flat()));
    for (const names of windows) {
      const steps = stepsOf(excerptOf(excerpt, new Set(names)), history.workers);
      const grants = new Set(steps.flatMap(({ take }) => take.grants));
      const bySweep = sweep(
        spans.filter(({ hold }) => grants.has(hold.grant)),
        limit,
      );
      const bySearch = linearizable(steps, limit);
      if (bySearch === "too hard") {
        tooHard += 1;
        continue;
      }
      judged += 1;
      if (bySweep === (bySearch === "yes")) continue;
      examples.add(
        [...grants],
        () =>
          `${about.key}: from ${seconds(steps[0]?.call ?? 0)} the sweep says ${bySweep ? "legal" : "illegal"}, the search the opposite`,
      );
    }
  }
  return examples.result("cross-wgl", { judged, what: "samples", metrics: { tooHard } });
}

/** Whether the sweep finds a few spans legal. `spans` must be sorted by `from`. */
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

/**
 * The names of the holds of each sample. Samples are spread over the run, at the first downgrades, and around the first
 * clash that the sweep finds.
 */
function samples(about: KeyHistory, spans: readonly Span[], limit: number | null): string[][] {
  const acquires = about.operations
    .filter(({ acquires: takes, outcome }) => takes && outcome === "ok")
    .sort((a, b) => a.endedAt - b.endedAt || a.end - b.end);
  const names = acquires.map(grantedAs);
  const starts = new Set<number>();
  const last = Math.max(0, names.length - windowHolds);
  for (let n = 0; n < windowsOfEachKey; n++) starts.add(Math.round((last * n) / (windowsOfEachKey - 1)));
  const downgrades = about.operations.filter(({ f, outcome }) => f === "downgrade" && outcome === "ok");
  for (const { hold } of downgrades.slice(0, windowsOfEachKey))
    starts.add(Math.max(0, names.indexOf(hold) - 2));
  const clashing: Span[] = [];
  if (limit === null) {
    clashes(outermost(spans), (witness) => {
      if (clashing.length === 0) clashing.push(witness().second);
    });
  }
  for (const { hold } of clashing) {
    const { grant } = hold.downgradedFrom ?? hold;
    starts.add(Math.max(0, acquires.findIndex(({ end }) => end === grant) - windowHolds + 2));
  }
  return [...starts].map((from) => names.slice(from, from + windowHolds)).filter(({ length }) => length > 0);
}
