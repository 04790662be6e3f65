import { describe, expect, it } from "vitest";
import type { CheckResult, Verdict } from "../../src/checkers/verdict.js";
import { decide } from "../../src/engine/decide.js";

const result = (checker: string, verdict: Verdict, metrics: Record<string, number> = {}): CheckResult => ({
  checker,
  verdict,
  summary: `${checker} says ${verdict}`,
  examples: [],
  metrics,
});

describe("the outcome of a scenario", () => {
  it("is as expected when what must pass passed and what must be convicted was", () => {
    const results = [result("stats", "pass"), result("mutex", "violation"), result("leaks", "unknown")];
    expect(decide({ pass: ["stats"], violation: ["mutex"] }, results).outcome).toBe("as-expected");
  });

  it("is a violation when any checker convicts that may not, named or not", () => {
    const results = [result("stats", "pass"), result("leaks", "violation")];
    expect(decide({ pass: ["stats"] }, results)).toMatchObject({
      outcome: "violation",
      unexpected: ["leaks"],
    });
    expect(decide({ pass: ["stats"], report: ["leaks"] }, results).outcome).toBe("as-expected");
  });

  it("is not demonstrated when what must be convicted passed", () => {
    const results = [result("stats", "pass"), result("mutex", "pass")];
    expect(decide({ pass: ["stats"], violation: ["mutex"] }, results)).toMatchObject({
      outcome: "not-demonstrated",
      unexpected: ["mutex"],
    });
  });

  it("is unknown when a checker that must pass has nothing to judge, or a planned fault did not happen", () => {
    const results = [result("stats", "pass"), result("mutex", "unknown")];
    expect(decide({ pass: ["stats", "mutex"] }, results).outcome).toBe("unknown");
    expect(decide({ pass: ["stats", "fifo"] }, results).outcome).toBe("unknown");
    expect(decide({ pass: ["stats"] }, results, ["zk.kill did not happen"])).toMatchObject({
      outcome: "unknown",
      why: "zk.kill did not happen",
    });
  });

  it("is unknown when the servers were at odds and a checker convicts, expected to pass or only reported", () => {
    const results = [result("stats", "pass"), result("belief", "violation")];
    const odds = ["m1 and its leader are at odds"];
    const unknown = { outcome: "unknown", unexpected: ["belief"] };
    expect(decide({ pass: ["belief"] }, results, [], odds)).toMatchObject(unknown);
    expect(decide({ pass: ["stats"], report: ["belief"] }, results, [], odds)).toMatchObject(unknown);
  });

  it("is a violation above a promised figure, and not demonstrated below one that was to be shown", () => {
    const results = [result("stats", "pass"), result("lost-notice", "pass", { lost: 2 })];
    const of = (least?: number, most?: number) =>
      decide(
        {
          pass: ["stats"],
          figures: {
            "lost-notice.lost": {
              ...(least === undefined ? {} : { least }),
              ...(most === undefined ? {} : { most }),
            },
          },
        },
        results,
      ).outcome;
    expect([of(2, 2), of(undefined, 1), of(3)]).toEqual(["as-expected", "violation", "not-demonstrated"]);
    expect(decide({ pass: ["stats"], figures: { "fifo.overtakes": { least: 1 } } }, results).outcome).toBe(
      "not-demonstrated",
    );
  });

  it("never hides a conviction behind too little evidence", () => {
    const results = [result("stats", "unknown"), result("mutex", "violation")];
    expect(decide({ pass: ["stats", "mutex"] }, results, ["a fault failed"]).outcome).toBe("violation");
  });
});
