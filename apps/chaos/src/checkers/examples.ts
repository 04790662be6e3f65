import type { Nanos } from "../history/record.js";
import type { CheckResult, Verdict } from "./verdict.js";

const kept = 20;

/** Collects the evidence of a checker: counts every violation and keeps the first examples. */
export class Examples {
  readonly list: { records: readonly number[]; text: string }[] = [];
  count = 0;

  add(records: readonly number[], text: () => string): void {
    this.count += 1;
    if (this.list.length < kept) this.list.push({ records: records.filter((i) => i >= 0), text: text() });
  }

  /**
   * Whether another example would still be kept. The caller asks because finding a witness may cost more than counting.
   */
  get wanted(): boolean {
    return this.list.length < kept;
  }

  /** `violation` if there is an example; else `pass`, or `unknown` if there was nothing to judge. */
  result(checker: string, about: ResultParts): CheckResult {
    const verdict: Verdict = this.count > 0 ? "violation" : about.judged > 0 ? "pass" : "unknown";
    const summary =
      verdict === "violation"
        ? `${this.count} x: ${this.list[0]?.text ?? ""}`
        : verdict === "pass"
          ? `${about.judged} ${about.what} in order`
          : `no ${about.what} to judge`;
    return {
      checker,
      verdict,
      summary,
      examples: this.list,
      metrics: { judged: about.judged, violations: this.count, ...about.metrics },
    };
  }
}

interface ResultParts {
  /** How many things were judged. 0 proves nothing. */
  readonly judged: number;
  readonly what: string;
  readonly metrics?: Readonly<Record<string, number>>;
}

/** A time of the run in the form `1.234567 s`. */
export const seconds = (t: Nanos): string => (Number.isFinite(t) ? `${(t / 1e9).toFixed(6)} s` : "the end");

export const millis = (t: Nanos): string => (Number.isFinite(t) ? `${(t / 1e6).toFixed(3)} ms` : "for good");
