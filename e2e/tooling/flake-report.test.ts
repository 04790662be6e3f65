import { expect, it } from "vitest";
import { describeReds, RedBook, type SeenRed, seedsIn } from "../../scripts/flake-report.mjs";
import { redsOf } from "../../scripts/vitest-report.mjs";

const red: SeenRed = {
  file: "e2e/some.test.ts",
  test: "two clients (never both) hold",
  error: "AssertionError: two holders\n    at x.ts:1",
  project: "servers",
  seeds: ["42"],
  log: "test-results/flake/servers-1.log",
};

it("the report of repeated runs counts a red test, and prints its error, its seed and the line that runs it again", () => {
  const book = new RedBook();
  book.add([red]);
  book.add([{ ...red, seeds: ["43"], log: "test-results/flake/servers-3.log" }]);
  expect(describeReds(book).split("\n")).toEqual([
    "2 runs were red",
    "",
    "2 x e2e/some.test.ts > two clients (never both) hold",
    "    AssertionError: two holders",
    "        at x.ts:1",
    "  seeds: 42, 43",
    "  logs: test-results/flake/servers-1.log test-results/flake/servers-3.log",
    "  again: HOLDFAST_SEED=42 npx vitest run --project servers e2e/some.test.ts -t 'two clients \\(never both\\) hold'",
  ]);
});

it("the report of repeated runs names an error outside of any test by its stage and its log", () => {
  const book = new RedBook();
  book.add([
    { ...red, file: "", test: null, error: "vitest ended with 1 although no test failed", seeds: [] },
  ]);
  expect(describeReds(book)).toContain("1 x outside of any test of servers\n    vitest ended with 1");
});

it("the report of repeated runs tells errors outside of any test of two stages apart, and has no line to run them again", () => {
  const book = new RedBook();
  const [outside] = redsOf(null, [{ message: "socket closed" }]);
  for (const project of ["servers", "redis"]) book.add([{ ...red, ...outside, project, seeds: [] }]);
  const text = describeReds(book);
  for (const project of ["servers", "redis"]) expect(text).toContain(`1 x outside of any test of ${project}`);
  expect(text).not.toContain("again:");
});

it("the report of repeated runs says so when every run was green", () => {
  expect(describeReds(new RedBook())).toBe("every run was green");
});

it("seeds are read from what the red file printed, and not from what other files printed", () => {
  const log = [
    "\u001b[90mstdout\u001b[2m | e2e/some.test.ts > x",
    "HOLDFAST_SEED=7",
    "stdout | e2e/other.test.ts > y",
    "share 14/134 cases, seed 8",
    "stderr | e2e/some.test.ts > z",
    "share 14/134 cases, seed 9",
    " FAIL  servers e2e/other.test.ts > y",
    "seed 10: HOLDFAST_SEED=10 repeats it",
    " FAIL  servers e2e/some.test.ts > x",
    "AssertionError: seed 11: HOLDFAST_SEED=11 repeats it",
  ].join("\n");
  expect(seedsIn(log, "e2e/some.test.ts")).toEqual(["7", "9", "11"]);
  expect(seedsIn(log, "")).toEqual([]);
});
