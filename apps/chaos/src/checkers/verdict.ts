/** Too little evidence is `unknown`, not a pass. */
export type Verdict = "pass" | "violation" | "unknown";

/** The answer of one checker about a history. */
export interface CheckResult {
  /** The name of the checker. */
  readonly checker: string;
  /** The verdict of the checker. */
  readonly verdict: Verdict;
  /** The verdict in one line. */
  readonly summary: string;
  /** Examples of violations: the indexes `i` of the records that show each, and a sentence about it. */
  readonly examples: readonly { readonly records: readonly number[]; readonly text: string }[];
  /** The figures of the checker, such as how many things it has judged. */
  readonly metrics: Readonly<Record<string, number>>;
}
