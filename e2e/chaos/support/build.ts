import { buildPackages } from "../../support/process/emit.js";

/** Builds the command line and its workers once for all tests: a build beside running tests would remove files that they use. */
export default async function build(): Promise<void> {
  await buildPackages("@holdfast/chaos");
}
