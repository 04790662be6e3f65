/** Labels whose values others choose, and that are therefore counted. */
export const guardedLabels: readonly ["lock_group", "op", "resource_group", "cluster"] = [
  "lock_group",
  "op",
  "resource_group",
  "cluster",
];
export type GuardedLabel = (typeof guardedLabels)[number];

/** The value that stands for all beyond the limit. */
export const otherValue = "__other__";

/**
 * The first distinct values of a label keep their name, the rest become `__other__`: a name with an order number in it must not
 * make a series for each order. A value that once had its own series keeps it until it is let go.
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

  /** Its place is free for another. The caller takes its series away, or there are more of them than the limit. */
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
