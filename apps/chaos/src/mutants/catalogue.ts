import { coreMutants } from "./core-mutants.js";
import { keepingMutants } from "./keeping-mutants.js";
import type { Mutant } from "./mutant.js";
import { redisMutants } from "./redis-mutants.js";
import { zooKeeperMutants } from "./zookeeper-mutants.js";

/** All mutants. Those of one backend are together. */
export const mutants: readonly Mutant[] = [
  ...coreMutants,
  ...zooKeeperMutants,
  ...redisMutants,
  ...keepingMutants,
];
