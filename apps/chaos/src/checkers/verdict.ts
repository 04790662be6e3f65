/** Three values: too little evidence is not a pass. */
export type Verdict = "pass" | "violation" | "unknown";

/** What one checker says of a history. */
export interface CheckResult {
  /** The name of the checker. */
  readonly checker: string;
  /** What it comes to. */
  readonly verdict: Verdict;
  /** The verdict in one line. */
  readonly summary: string;
  /** Examples of what convicts: indexes `i` of the records that show it, and a sentence for each. */
  readonly examples: readonly { readonly records: readonly number[]; readonly text: string }[];
  /** The figures of the checker, such as how much it has judged. */
  readonly metrics: Readonly<Record<string, number>>;
}
