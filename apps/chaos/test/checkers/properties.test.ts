import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sweepAllows } from "../../src/checkers/cross-wgl.js";
import { judge } from "../../src/checkers/judge.js";
import { believed } from "../../src/checkers/spans.js";
import { linearizable } from "../../src/checkers/wgl.js";
import { historyOf } from "../../src/history/read.js";
import { Script } from "../support.js";

const stretch = fc.record({
  gap: fc.integer({ min: 2, max: 9 }),
  held: fc.integer({ min: 3, max: 9 }),
  p: fc.nat(4),
});

function oneAfterAnother(
  stretches: readonly { gap: number; held: number; p: number }[],
  intruder = -1,
): Script {
  const script = new Script({ k: { fenced: true } });
  let now = 1;
  stretches.forEach(({ gap, held, p }, at) => {
    const from = now + gap;
    now = from + held;
    script.hold(`w${p}#0`, "k", from, now, { token: at + 1 });
    if (at === intruder) script.hold("x#0", "k", from + 1, now + 1, { token: 1_000 });
  });
  return script;
}
const convicted = (script: Script): string[] =>
  judge(historyOf(script.records))
    .filter(({ verdict }) => verdict === "violation")
    .map(({ checker }) => checker);

describe("random histories", () => {
  it("pass when holds follow each other", () => {
    fc.assert(
      fc.property(fc.array(stretch, { minLength: 1, maxLength: 60 }), (all) => {
        expect(convicted(oneAfterAnother(all))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it("are convicted of one overlap", () => {
    fc.assert(
      fc.property(fc.array(stretch, { minLength: 1, maxLength: 60 }), fc.nat(), (all, at) => {
        const names = convicted(oneAfterAnother(all, at % all.length));
        expect(names).toEqual(expect.arrayContaining(["mutex", "belief"]));
        expect(names).not.toContain("cross-wgl");
      }),
      { numRuns: 100 },
    );
  });

  const loose = fc.record({
    asked: fc.nat(40),
    waits: fc.nat(8),
    held: fc.nat(8),
    p: fc.nat(2),
    mode: fc.constantFrom("read" as const, "write" as const),
    permits: fc.integer({ min: 1, max: 2 }),
    nests: fc.boolean(),
  });
  it.each([
    ["read-write", null],
    ["semaphore", 2],
    ["semaphore", 3],
  ] as const)("are judged alike by the sweep and by the search: %s of %s", (kind, limit) => {
    const met = { legal: 0, illegal: 0 };
    fc.assert(
      fc.property(fc.array(loose, { maxLength: 8 }), (all) => {
        const script = new Script({ k: { kind, ...(limit === null ? {} : { limit }) } });
        for (const { asked, waits, held, p, mode, permits, nests } of all) {
          const more = { mode, permits, ...(nests ? { thread: "t" } : {}) };
          const hold = script.grant(`w${p}#0`, "k", asked, asked + waits, more);
          script.release(`w${p}#0`, "k", hold, asked + waits + held, asked + waits + held + 1);
        }
        const about = historyOf(script.records).keys.get("k");
        const spans = about === undefined ? [] : believed(about);
        const legal = sweepAllows(spans, limit);
        met[legal ? "legal" : "illegal"] += 1;
        expect(linearizable(spans, limit)).toBe(legal ? "yes" : "no");
      }),
      { numRuns: 300 },
    );
    expect(Math.min(met.legal, met.illegal)).toBeGreaterThan(10);
  });
});
