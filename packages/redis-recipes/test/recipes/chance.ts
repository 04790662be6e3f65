import { seededRandom } from "@holdfast/core/testing";

/** The same seed draws the same. */
export class Chance {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** True in this share of the cases. */
  of(share: number): boolean {
    return this.#random() < share;
  }

  /** A whole number from 0 on. */
  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  one<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
}
