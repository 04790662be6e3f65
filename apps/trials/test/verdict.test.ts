import { expect, it } from "vitest";
import { chargesOf, counting, verdictOf } from "../src/verdict.js";

/** Runs with these results. A run with a charge is a conviction. */
const runs = (...said: ("kept" | "unknown" | "damage" | "stuck")[]) =>
  said.map((each) =>
    each === "kept" || each === "unknown"
      ? { verdict: each, charges: [] }
      : { verdict: "convicted" as const, charges: [{ charge: each, text: "seen" }] },
  );

it("the first run that could be judged is the verdict where it does not convict", () => {
  expect(verdictOf([])).toBe("open");
  expect(verdictOf(runs("kept"))).toBe("kept");
  expect(verdictOf(runs("unknown"))).toBe("open");
  expect(verdictOf(runs("unknown", "kept"))).toBe("kept");
  expect(verdictOf(runs("unknown", "unknown"))).toBe("unknown");
});

it("a conviction counts when it was seen in three of five seeds, and is run no longer than that takes", () => {
  expect(verdictOf(runs("damage"))).toBe("open");
  expect(verdictOf(runs("damage", "damage"))).toBe("open");
  expect(verdictOf(runs("damage", "damage", "damage"))).toBe("convicted");
  expect(verdictOf(runs("damage", "kept", "unknown", "damage"))).toBe("open");
  expect(verdictOf(runs("damage", "kept", "unknown", "damage", "damage"))).toBe("convicted");
});

it("different charges do not add up to one", () => {
  expect(verdictOf(runs("damage", "stuck", "damage"))).toBe("open");
  expect(verdictOf(runs("damage", "stuck", "damage", "stuck", "stuck"))).toBe("convicted");
  expect(counting(runs("damage", "stuck", "damage", "stuck", "stuck"))).toEqual(["stuck"]);
  expect(verdictOf(runs("damage", "stuck", "damage", "stuck", "kept"))).toBe("chance");
});

it("a conviction that three of five seeds cannot show any more was chance", () => {
  expect(verdictOf(runs("damage", "kept", "kept"))).toBe("open");
  expect(verdictOf(runs("damage", "kept", "kept", "unknown"))).toBe("chance");
});

const results = (["lost-update", "belief", "lost-notice", "handover"] as const).map((checker) => ({
  checker,
  verdict: "violation" as const,
  summary: "seen",
  examples: [],
  metrics: {},
}));

it("charges stand with the worst first, and what no lock can keep under a fault is no charge", () => {
  const charged = (excuses: Record<string, string>) =>
    chargesOf({ results, outcome: "as-expected", unexpected: [] }, { excuses }).map(({ charge }) => charge);
  expect(charged({})).toEqual(["damage", "two holders", "told late", "stuck"]);
  expect(charged({ "two holders": "why", "told late": "why" })).toEqual(["damage", "stuck"]);
});

it("a conviction that the runner has set aside, because the servers may have done it, is no charge", () => {
  const unexpected = results.map(({ checker }) => checker);
  expect(chargesOf({ results, outcome: "unknown", unexpected }, { excuses: {} })).toEqual([]);
});
