import { writeFile } from "node:fs/promises";

/**
 * A reporter of vitest for what its JSON report leaves out: errors that belong to no test, such as an unhandled rejection
 * or a worker that died. It writes them to the file that `HOLDFAST_OUTSIDE_ERRORS` names, so that the summary of a run
 * can name them.
 */
export default class ErrorsOutsideTests {
  async onTestRunEnd(_modules, errors) {
    const file = process.env.HOLDFAST_OUTSIDE_ERRORS;
    if (file === undefined) return;
    const described = errors.map(({ name, message, stack }) => ({ message: `${name}: ${message}`, stack }));
    await writeFile(file, JSON.stringify(described));
  }
}
