import { readFile } from "node:fs/promises";

/** @typedef {{ status: string, fullName: string, failureMessages?: string[] }} TestReport */
/** @typedef {{ name: string, status: string, message?: string, assertionResults: TestReport[] }} FileReport */
/**
 * @typedef {{ message: string, stack?: string }} OutsideError an error that belongs to no test, such as an unhandled rejection
 */

/**
 * Judges vitest's JSON report and exit code. A test that did not run is never green: a skipped test counts as a failure. So
 * does a file that failed as a whole (on load, in a hook), and a run that failed without naming a test. Each failure is named
 * in a remark, so that the end of a long log shows it.
 *
 * @param {{ testResults: FileReport[] } | null} report `null` if there is none
 * @param {string | null} runFailure how vitest ended; `null` if it ended well
 * @param {boolean} filtered true if the filters choose tests inside of files (`choosesTests`): then tests that did not run are only mentioned
 * @param {readonly OutsideError[]} outsideErrors
 * @returns {{ passed: number, failed: number, remarks: string[] }}
 */
export function judge(report, runFailure, filtered, outsideErrors = []) {
  const verdict = { passed: 0, failed: 0, remarks: [] };
  const fail = (remark) => {
    verdict.failed += 1;
    verdict.remarks.push(remark);
  };
  if (report === null) {
    fail(`no report; vitest ${runFailure ?? "ended well"}`);
    return verdict;
  }
  let leftOut = 0;
  for (const file of report.testResults) {
    let failedHere = 0;
    for (const test of file.assertionResults) {
      if (test.status === "passed") verdict.passed += 1;
      else if (test.status === "failed") {
        failedHere += 1;
        verdict.remarks.push(`failed: ${test.fullName} (${file.name})${firstLine(test.failureMessages)}`);
      } else if (filtered) leftOut += 1;
      else fail(`${test.status}: ${test.fullName}`);
    }
    verdict.failed += failedHere;
    if (file.status !== "passed" && failedHere === 0) fail(`failed as a whole: ${file.name}`);
  }
  if (leftOut > 0) verdict.remarks.push(`${leftOut} tests left out by the filter, or skipped`);
  for (const { message, stack = "" } of outsideErrors)
    fail(
      `error outside of any test: ${message}${stack
        .split("\n")
        .slice(0, 4)
        .map((line) => `\n    ${line.trim()}`)
        .join("")}`,
    );
  if (runFailure !== null && verdict.failed === 0) fail(`vitest ${runFailure} although no test failed`);
  return verdict;
}

/**
 * Whether filters choose tests inside of files, so that the others are left out. Paths choose whole files.
 *
 * @param {readonly string[]} filters
 */
export const choosesTests = (filters) => filters.some((each) => /^(-t|--testNamePattern)\b|:\d+$/.test(each));

/**
 * @typedef {{ file: string, test: string | null, error: string }} Red `test` is null if the file failed as a whole; `file` is empty
 *   for an error outside of any test
 */

/**
 * The tests that failed, the files that failed as a whole, and the errors that belong to no test.
 *
 * @param {{ testResults: FileReport[] } | null} report
 * @param {readonly OutsideError[]} outsideErrors
 * @returns {Red[]}
 */
export function redsOf(report, outsideErrors = []) {
  const inFiles = (report?.testResults ?? []).flatMap((file) => {
    const reds = file.assertionResults
      .filter(({ status }) => status === "failed")
      .map((test) => ({ file: file.name, test: test.fullName, error: test.failureMessages?.[0] ?? "" }));
    if (reds.length > 0 || file.status === "passed") return reds;
    return [{ file: file.name, test: null, error: file.message ?? "" }];
  });
  const outside = outsideErrors.map(({ message, stack }) => ({
    file: "",
    test: null,
    error: `${message}\n${stack ?? ""}`,
  }));
  return [...inFiles, ...outside];
}

function firstLine(messages = []) {
  const line = messages[0]?.split("\n")[0] ?? "";
  return line === "" ? "" : `\n    ${line.slice(0, 300)}`;
}

/**
 * @param {string} file
 * @returns {Promise<any>} the content of the JSON file; `null` if it is missing or cut short
 */
export async function readReport(file) {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    console.error(`${file}: ${error.message}`);
    return null;
  }
}
