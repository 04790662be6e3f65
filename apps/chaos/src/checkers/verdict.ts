/** Three values: too little evidence is not a pass. */
export type Verdict = "pass" | "violation" | "unknown";

export interface CheckResult {
  readonly checker: string;
  readonly verdict: Verdict;
  /** In one line. */
  readonly summary: string;
  /** Where it is convicted: indexes `i` of the records that show it, and a sentence for each example. */
  readonly examples: readonly { readonly records: readonly number[]; readonly text: string }[];
  readonly metrics: Readonly<Record<string, number>>;
}
