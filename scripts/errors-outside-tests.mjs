import { writeFile } from "node:fs/promises";

/**
 * A reporter of vitest for what its JSON report leaves out: errors that belong to no test, such as an unhandled rejection or a
 * worker that died. It writes them to the file that `HOLDFAST_OUTSIDE_ERRORS` names, so that the summary of a run can name
 * them. It also prints each failed test at once. Vitest prints them only at the end of a stage, which may be half an hour
 * later, or never.
 */
export default class ErrorsOutsideTests {
  onTestCaseResult(test) {
    const { state, errors = [] } = test.result();
    if (state !== "failed") return;
    const causes = errors.map(({ stack, message }) => stack ?? message).join("\n");
    process.stderr.write(`\nRED ${test.module.relativeModuleId} > ${test.fullName}\n${causes}\n\n`);
  }

  async onTestRunEnd(_modules, errors) {
    const file = process.env.HOLDFAST_OUTSIDE_ERRORS;
    if (file === undefined) return;
    const described = errors.map(({ name, message, stack }) => ({ message: `${name}: ${message}`, stack }));
    await writeFile(file, JSON.stringify(described));
  }
}
