import { buildPackages } from "../../support/process/emit.js";

/** The command line and its workers run as built: once for all tests, as a build beside them would take files from under them. */
export default async function build(): Promise<void> {
  await buildPackages("@holdfast/chaos");
}
