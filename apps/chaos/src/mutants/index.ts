export { mutants } from "./catalogue.js";
export type { Mutant } from "./mutant.js";
export { patchedText } from "./patched-packages.js";
export { type MutantOutcome, type RunMutantsOptions, runMutants } from "./run-mutants.js";
