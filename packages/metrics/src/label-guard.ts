/** Labels whose values come from operators, backends or names. The number of their values is therefore limited. */
export const guardedLabels: readonly ["lock_group", "op", "resource_group", "cluster"] = [
  "lock_group",
  "op",
  "resource_group",
  "cluster",
];
export type GuardedLabel = (typeof guardedLabels)[number];

/** The value that stands for all values beyond the limit. */
export const otherValue = "__other__";

/**
 * The first distinct values of a label keep their name, the rest become `__other__`: a name with an order number in it must not
 * make a series for each order. A value that once had its own series keeps it until `letGo` is called for it.
 */
export class LabelGuard {
  readonly label: GuardedLabel;
  readonly #maxValues: number;
  readonly #onOverflow: (label: GuardedLabel) => void;
  readonly #seen = new Set<string>();

  constructor(label: GuardedLabel, maxValues: number, onOverflow: (label: GuardedLabel) => void) {
    this.label = label;
    this.#maxValues = maxValues;
    this.#onOverflow = onOverflow;
  }

  /** Like `pass`, without counting an overflow: for a caller that keeps the answer and calls `overflowed` on each use. */
  admit(value: string): string {
    if (this.#seen.has(value)) return value;
    if (this.#seen.size >= this.#maxValues) return otherValue;
    this.#seen.add(value);
    return value;
  }

  /**
   * Frees the place of a value for another value. The caller must remove its series, or there are more series than the
   * limit.
   */
  letGo(value: string): void {
    this.#seen.delete(value);
  }

  overflowed(): void {
    this.#onOverflow(this.label);
  }

  /** The value to use for one observation; counts an overflow. */
  pass(value: string): string {
    const admitted = this.admit(value);
    if (admitted === otherValue) this.overflowed();
    return admitted;
  }
}
