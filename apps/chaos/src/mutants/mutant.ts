import type { CheckerName } from "../checkers/judge.js";

export type PatchedPackage = "core" | "zk-protocol" | "zk-recipes" | "redis-recipes" | "multi-lock";

/** One of our recipes with one guard removed. */
export interface Mutant {
  /** The name of the mutant. */
  readonly id: string;
  /** The guard that is missing. */
  readonly guard: string;
  /** The package that it changes. */
  readonly package: PatchedPackage;
  /** The file of the built package, without `.js`. */
  readonly file: string;
  /** The text to replace. It must be in the file exactly once; otherwise the source has changed, which is an error. */
  readonly find: string;
  /** The text that replaces it. */
  readonly replace: string;
  /**
   * The scenarios of the catalogue that may convict it. The first is the one that was seen to convict it. Each passes
   * with the unchanged recipe.
   */
  readonly scenarios: readonly [string, ...string[]];
  /** The checkers, each of which must convict in one of the scenarios. Empty for a mutant that is not convicted. */
  readonly convicts: readonly CheckerName[];
  /** Why no scenario convicts it; unset for a mutant that is convicted. */
  readonly survives?: string;
}
