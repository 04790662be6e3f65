import { seededRandom } from "@holdfast/core/testing";

/** Random choices; the same seed gives the same choices. */
export class Chance {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** Returns true in this share of the cases. */
  of(share: number): boolean {
    return this.#random() < share;
  }

  /** Returns a whole number from 0 up to below `bound`. */
  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  one<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
}
