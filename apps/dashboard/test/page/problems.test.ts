import { describe, expect, it } from "vitest";
import { sorted, stepsFor, tally } from "../../page/src/format/problems.js";
import type { FindingRow } from "../../src/contract/api.js";

function finding(id: string, changed: Partial<FindingRow> = {}): FindingRow {
  return {
    id,
    cluster: "zoo",
    kind: "stuck-with-waiters",
    severity: "critical",
    object: "/locks/a",
    lockId: "L",
    sinceMs: 1,
    evidence: "",
    advice: "",
    muted: null,
    ...changed,
  };
}
const muted = { reason: "known", by: "anna", untilMs: 9 };
const rows = [
  finding("hint", { severity: "info", kind: "long-hold" }),
  finding("warning", { severity: "warning" }),
  finding("young", { sinceMs: 2 }),
  finding("old"),
  finding("muted", { muted }),
  finding("elsewhere", { cluster: "red" }),
];
const ids = (some: readonly FindingRow[]): string[] => some.map(({ id }) => id);

describe("problems", () => {
  it("are what is critical or a warning and not muted, the worst first, of the chosen cluster", () => {
    const here = sorted(rows, "zoo");
    expect(ids(here.problems)).toEqual(["old", "young", "warning"]);
    expect(ids(here.hints)).toEqual(["hint"]);
    expect(ids(here.muted)).toEqual(["muted"]);
    expect(ids(sorted(rows, null).problems)).toEqual(["old", "elsewhere", "young", "warning"]);
  });
  it("are counted by their severity", () => {
    expect(tally(sorted(rows, "zoo").problems)).toBe("2 critical, 1 warning");
    expect(tally([])).toBe("");
  });
});

describe("the next steps of a finding", () => {
  const texts = (changed: Partial<FindingRow>, mayAsk = true): string[] =>
    stepsFor(finding("f", changed), mayAsk).map(({ text }) => text);
  it("are the lock and the request to release it, for users who may ask", () => {
    expect(stepsFor(finding("f"), true)).toEqual([
      { text: "Open the lock", path: "locks/L" },
      { text: "Ask the holder to release", path: "locks/L", query: { act: "request-revoke" } },
    ]);
    expect(texts({}, false)).toEqual(["Open the lock", "See who waits"]);
  });
  it("lead to the deadlock, to the servers, and else to the advice", () => {
    expect(texts({ kind: "deadlock-suspected" })).toEqual(["See the deadlock", "Open the lock"]);
    expect(texts({ kind: "eviction-policy", lockId: null })).toEqual([
      "Open the backends",
      "Read the advice",
    ]);
    expect(texts({ kind: "mixed-kinds" })).toEqual(["Open the lock", "Read the advice"]);
  });
});
