import { isSemaphore } from "../../checkers/kinds.js";
import { limitAround } from "../../checkers/limits.js";
import { believed, outermost, type Span } from "../../checkers/spans.js";
import { clashes, sums } from "../../checkers/sweep.js";
import type { History, Hold, KeyHistory } from "../../history/history.js";
import type { Nanos } from "../../history/record.js";

const most = 2_000;

export interface Overlap {
  readonly key: string;
  readonly first: Hold;
  readonly second: Hold;
  readonly from: Nanos;
  readonly to: Nanos;
}

/** The pairs of holds that convict, as `belief` finds them: the first ones, and how many more there are. */
export function overlapsOf(history: History): { list: Overlap[]; leftOut: number } {
  const list: Overlap[] = [];
  let leftOut = 0;
  const add = (about: KeyHistory, first: Span, second: Span): void => {
    const to = Math.min(first.to, second.to, history.endedAt);
    list.push({ key: about.key, first: first.hold, second: second.hold, from: second.from, to });
  };
  for (const about of history.keys.values()) {
    if (about.meta.kind === "latch") continue;
    if (isSemaphore(about)) {
      sums(believed(about), (span, permits, together) => {
        if (permits <= limitAround(about, span.hold.invokedAt, span.from)) return;
        if (list.length >= most) leftOut += 1;
        else for (const other of together()) if (other !== span) add(about, other, span);
      });
      continue;
    }
    clashes(outermost(believed(about)), (witness) => {
      if (list.length >= most) leftOut += 1;
      else {
        const { first, second } = witness();
        add(about, first, second);
      }
    });
  }
  return { list, leftOut };
}
