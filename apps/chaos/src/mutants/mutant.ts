import type { CheckerName } from "../checkers/judge.js";

export type PatchedPackage = "core" | "zk-protocol" | "zk-recipes" | "redis-recipes" | "multi-lock";

/** One of our recipes with one guard removed. */
export interface Mutant {
  /** Names it. */
  readonly id: string;
  /** What is missing. */
  readonly guard: string;
  /** The package that it changes. */
  readonly package: PatchedPackage;
  /** The file of the built package, without `.js`. */
  readonly file: string;
  /** Stands there exactly once; anything else means that the source has moved on, and is an error. */
  readonly find: string;
  /** What stands there instead. */
  readonly replace: string;
  /** The scenarios of the catalogue that may convict it, the one that was seen to first. Each passes with the recipe as it is. */
  readonly scenarios: readonly [string, ...string[]];
  /** The checkers, each of which must convict in one of the scenarios. Empty for a mutant that is not convicted. */
  readonly convicts: readonly CheckerName[];
  /** Why no scenario convicts it; unset for all others. */
  readonly survives?: string;
}
