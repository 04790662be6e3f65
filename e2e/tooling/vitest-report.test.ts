import { describe, expect, it } from "vitest";
import { choosesTests, judge, redsOf, type VitestReport } from "../../scripts/vitest-report.mjs";

const file = (status: string, ...tests: string[]): VitestReport["testResults"][number] => ({
  name: "some.test.ts",
  status,
  assertionResults: tests.map((test, at) => ({ status: test, fullName: `test ${at}` })),
});
const report = (...files: VitestReport["testResults"]): VitestReport => ({ testResults: files });

describe("the verdict of a test run", () => {
  it("counts what passed and what failed, and names what failed", () => {
    const verdict = judge(
      report(file("passed", "passed", "passed"), file("failed", "failed", "passed")),
      "ended with 1",
      false,
    );
    expect(verdict).toEqual({ passed: 3, failed: 1, remarks: ["failed: test 0 (some.test.ts)"] });
  });

  it("says the first line of what went wrong", () => {
    const failed = file("failed", "failed");
    for (const test of failed.assertionResults) test.failureMessages = ["Error: two holders\n    at x.ts:1"];
    expect(judge(report(failed), "ended with 1", false).remarks).toEqual([
      "failed: test 0 (some.test.ts)\n    Error: two holders",
    ]);
  });

  it("fails for a skipped test and for one to do, and names them", () => {
    const verdict = judge(report(file("passed", "passed", "skipped", "todo")), null, false);
    expect(verdict).toEqual({ passed: 1, failed: 2, remarks: ["skipped: test 1", "todo: test 2"] });
  });

  it("only mentions tests that a filter left out", () => {
    const verdict = judge(report(file("passed", "passed", "skipped")), null, true);
    expect(verdict).toEqual({
      passed: 1,
      failed: 0,
      remarks: ["1 tests left out by the filter, or skipped"],
    });
  });

  it("fails for a file that broke on load or in a hook", () => {
    const verdict = judge(report(file("failed"), file("failed", "passed")), "ended with 1", false);
    expect(verdict.passed).toBe(1);
    expect(verdict.failed).toBe(2);
  });

  it("fails for a run that ended badly although no test failed, as with an unhandled rejection", () => {
    expect(judge(report(file("passed", "passed")), "ended with 1", false).failed).toBe(1);
  });

  it("names an error outside of any test, which the report of the tests leaves out", () => {
    const outside = [{ message: "Error: socket closed", stack: "Error: socket closed\n    at x.ts:1" }];
    const verdict = judge(report(file("passed", "passed")), "ended with 1", false, outside);
    expect(verdict).toMatchObject({ passed: 1, failed: 1 });
    expect(verdict.remarks).toEqual([expect.stringContaining("outside of any test: Error: socket closed")]);
    expect(redsOf(report(file("passed", "passed")), outside)).toEqual([
      { file: "", test: null, error: expect.stringContaining("socket closed") },
    ]);
  });

  it("fails without a report", () => {
    expect(judge(null, null, false).failed).toBe(1);
    expect(judge(null, "did not end within 600 s", false).failed).toBe(1);
  });
});

it("the red tests of a report are those that failed, and the files that failed as a whole", () => {
  const broken = { ...file("failed"), message: "cannot find module" };
  const found = redsOf(report(file("passed", "passed"), file("failed", "passed", "failed"), broken));
  expect(found).toEqual([
    { file: "some.test.ts", test: "test 1", error: "" },
    { file: "some.test.ts", test: null, error: "cannot find module" },
  ]);
  expect(redsOf(null)).toEqual([]);
});

it.each([
  ["paths", ["e2e/redis", "packages/core/test/hold.test.ts"], false],
  ["a pattern of titles", ["e2e/redis", "-t", "never both"], true],
  ["a line of a file", ["e2e/some.test.ts:12"], true],
])(
  "a test that did not run is a failure unless the filter chooses tests inside of files: %s",
  (_what, filters, is) => {
    expect(choosesTests(filters)).toBe(is);
  },
);
