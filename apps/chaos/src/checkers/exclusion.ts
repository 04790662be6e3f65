import type { History, KeyHistory } from "../history/history.js";
import { Examples, millis, seconds } from "./examples.js";
import { isExclusive, isReadWrite, isSemaphore } from "./kinds.js";
import { limitAround } from "./limits.js";
import { advertised, believed, outermost, type Span } from "./spans.js";
import { type Clash, clashes, sums } from "./sweep.js";
import type { CheckResult } from "./verdict.js";

/** Shorter overlaps are called grazing. They convict too, but a reader of the report wants to know. */
const grazingNs = 1e6;

interface Found {
  judged: number;
  grazing: number;
  longest: number;
  readonly examples: Examples;
}

/** Whether the holds that the application believed in excluded each other, over all keys. */
export const belief = (history: History): CheckResult =>
  judged("belief", history, believed, (about) => about.meta.kind !== "latch");

/** Whether the holds that the recipes promised, up to their own deadlines, excluded each other. */
export const advertisedExclusion = (history: History): CheckResult =>
  judged("advertised", history, advertised, (about) => about.meta.kind !== "latch");

/** Checks that each exclusive lock has at most one holder at a time. */
export const mutex = (history: History): CheckResult => judged("mutex", history, believed, isExclusive);

/** Checks that no writer holds beside another holder, except beside its own downgraded read. */
export const readWrite = (history: History): CheckResult => judged("rw", history, believed, isReadWrite);

/** Checks that no more permits are held than there are. */
export const permits = (history: History): CheckResult => judged("permits", history, believed, isSemaphore);

function judged(
  checker: string,
  history: History,
  spansOf: (about: KeyHistory) => Span[],
  wanted: (about: KeyHistory) => boolean,
): CheckResult {
  const found: Found = { judged: 0, grazing: 0, longest: 0, examples: new Examples() };
  for (const about of history.keys.values()) {
    if (!wanted(about)) continue;
    const spans = spansOf(about);
    found.judged += spans.length;
    if (isSemaphore(about)) tooMany(about, spans, found);
    else together(about, spans, found);
  }
  const { examples, grazing, longest } = found;
  return examples.result(checker, {
    judged: found.judged,
    what: "holds",
    metrics: { grazing, longestOverlapMs: Math.round(longest / 1e3) / 1e3 },
  });
}

function together(about: KeyHistory, spans: readonly Span[], found: Found): void {
  clashes(outermost(spans), (witness) => {
    const clash = found.examples.wanted ? witness() : null;
    const overlap = clash === null ? null : Math.min(clash.first.to, clash.second.to) - clash.second.from;
    if (overlap !== null && overlap < grazingNs) found.grazing += 1;
    if (overlap !== null && Number.isFinite(overlap)) found.longest = Math.max(found.longest, overlap);
    const records = clash === null ? [] : recordsOf(clash);
    found.examples.add(records, () => (clash === null ? "" : textOf(about.key, clash, overlap ?? 0)));
  });
}

function tooMany(about: KeyHistory, spans: readonly Span[], found: Found): void {
  sums(spans, (span, sum, holders) => {
    const limit = limitAround(about, span.hold.invokedAt, span.from);
    if (sum <= limit) return;
    const names = found.examples.wanted ? holders() : [];
    found.examples.add(
      names.map(({ hold }) => hold.grant),
      () =>
        `${about.key}: ${sum} permits of ${limit} out at ${seconds(span.from)}: ${names.map(named).join(", ")}`,
    );
  });
}

const recordsOf = ({ first, second }: Clash): number[] => [
  first.hold.grant,
  second.hold.grant,
  first.hold.end,
  second.hold.end,
];

const textOf = (key: string, { first, second }: Clash, overlap: number): string =>
  `${key}: ${named(second)} was granted at ${seconds(second.from)} while ${named(first)} held from ` +
  `${seconds(first.from)} to ${seconds(first.to)}: both for ${millis(overlap)}${overlap < grazingNs ? " (grazing)" : ""}`;

const named = ({ hold, writes }: Span): string => `${hold.p} (${hold.id}${writes ? "" : ", read"})`;
