import type { CheckerName } from "../checkers/judge.js";
import type { Scenario } from "../engine/scenario.js";

export type PatchedPackage = "core" | "zk-recipes" | "redis-recipes" | "multi-lock";

/** One of our recipes with one guard removed, and the checkers that have to notice. */
export interface Mutant {
  /** Names it. */
  readonly id: string;
  /** What is missing. */
  readonly guard: string;
  /** The package that it changes. */
  readonly package: PatchedPackage;
  /** Of the built package, without `.js`. */
  readonly file: string;
  /** Stands there exactly once; anything else means that the source has moved on, and is an error. */
  readonly find: string;
  /** What stands there instead. */
  readonly replace: string;
  /** Passes as a whole with the recipe as it is. */
  readonly scenario: Scenario;
  /** Each of them must convict. */
  readonly convicts: readonly [CheckerName, ...CheckerName[]];
}
