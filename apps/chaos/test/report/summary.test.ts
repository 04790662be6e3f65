import { describe, expect, it } from "vitest";
import { checkerNames } from "../../src/checkers/judge.js";
import { guarantees } from "../../src/report/guarantees.js";
import { entryOfOutcome, matricesOf } from "../../src/report/matrix.js";
import { summaryMarkdown } from "../../src/report/summary.js";
import { everyKind, outcome, result } from "./outcomes.js";

const cellsOf = (...[parts]: Parameters<typeof outcome>): Record<string, string> => {
  const { cells } = entryOfOutcome(outcome(parts));
  return Object.fromEntries(guarantees.map(({ name }, at) => [name, cells[at] ?? ""]));
};

describe("the matrix", () => {
  it("has every checker in exactly one guarantee, but for those that judge the run and the checkers", () => {
    const judged = guarantees.flatMap(({ checkers }) => checkers);
    expect([...judged, "stats", "cross-wgl"].sort()).toEqual([...checkerNames].sort());
  });

  it("calls held only what was judged", () => {
    const cells = cellsOf({
      results: [result("belief", "pass"), { ...result("lost-notice", "pass"), metrics: { judged: 0 } }],
    });
    expect(cells).toMatchObject({
      "one holder, as reported": "unknown",
      "losses are reported in time": "not judged",
    });
    expect(cellsOf()).toMatchObject({ "one holder, as reported": "held", fair: "not judged" });
  });

  it("calls nothing held of a run in which too little happened, and nothing broken that the servers may have done", () => {
    const name = "one holder, as reported";
    const missed = {
      outcome: "unknown",
      why: "there was no holder(k1) to hit",
      unexpected: ["stats"],
    } as const;
    expect(cellsOf(missed)).toMatchObject({ [name]: "unknown", fair: "not judged" });
    const few = {
      outcome: "violation",
      results: [result("belief", "pass"), result("mutex", "pass"), result("stats", "unknown")],
    } as const;
    expect(cellsOf(few)).toMatchObject({ [name]: "unknown" });
    const odds = {
      outcome: "unknown",
      unexpected: ["mutex"],
      results: [result("mutex", "violation", "both"), result("handover", "pass")],
    } as const;
    expect(cellsOf(odds)).toMatchObject({ [name]: "unknown", "goes on": "held" });
  });

  it("distinguishes an expected conviction from one that was not expected", () => {
    const results = [result("mutex", "violation", "both"), result("fifo", "violation", "overtaken")];
    const cells = cellsOf({ results, scenario: { expect: { pass: [], violation: ["mutex"] } } });
    expect(cells).toMatchObject({ "one holder, as reported": "broken as known", fair: "broken" });
  });

  it("says of a scenario that was skipped or broke that it was not run, whatever its results", () => {
    for (const kind of ["skipped", "broken"] as const)
      expect(cellsOf({ outcome: kind, results: [] })).toMatchObject({ "one holder, as reported": "not run" });
  });

  it("shows the worst where scenarios of one mode and fault disagree, and who says so", () => {
    const bad = outcome({ scenario: { id: "Z02" }, results: [result("mutex", "violation", "both")] });
    const [matrix, ...others] = matricesOf([outcome(), bad].map(entryOfOutcome));
    expect(others).toEqual([]);
    expect(matrix?.rows[0]?.cells[0]).toEqual({ cell: "broken", ids: ["Z02"] });
  });
});

describe("summary.md", () => {
  it("has a row for every scenario and a table for every mode", () => {
    const text = summaryMarkdown(everyKind());
    for (const { scenario } of everyKind().outcomes)
      expect(text).toMatch(new RegExp(`^\\| ${scenario.id} \\|`, "m"));
    expect(text).toMatch(/^### ZooKeeper, ours$/m);
    expect(text).toMatch(/^### Redis, naive$/m);
    expect(text).toMatch(/^\| none \|.*\*\*BROKEN\*\* \(Z02\)/m);
  });

  it("keeps its tables whole when a text has bars and line breaks", () => {
    const text = summaryMarkdown({ ...everyKind(), outcomes: [outcome({ why: "a|b\nc" })] });
    expect(text).toContain("a\\|b c");
  });
});
