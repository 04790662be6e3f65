import { expect, it } from "vitest";
import { chargesOf, verdictOf } from "../src/verdict.js";

const runs = (...verdicts: ("kept" | "convicted" | "unknown")[]) => verdicts.map((verdict) => ({ verdict }));

it("the first run that could be judged is the verdict where it does not convict", () => {
  expect(verdictOf([])).toBe("open");
  expect(verdictOf(runs("kept"))).toBe("kept");
  expect(verdictOf(runs("unknown"))).toBe("open");
  expect(verdictOf(runs("unknown", "kept"))).toBe("kept");
  expect(verdictOf(runs("unknown", "unknown"))).toBe("unknown");
});

it("a conviction counts when it was seen in three of five seeds, and is run no longer than that takes", () => {
  expect(verdictOf(runs("convicted"))).toBe("open");
  expect(verdictOf(runs("convicted", "convicted"))).toBe("open");
  expect(verdictOf(runs("convicted", "convicted", "convicted"))).toBe("convicted");
  expect(verdictOf(runs("convicted", "kept", "unknown", "convicted"))).toBe("open");
  expect(verdictOf(runs("convicted", "kept", "unknown", "convicted", "convicted"))).toBe("convicted");
});

it("a conviction that three of five seeds cannot show any more was chance", () => {
  expect(verdictOf(runs("convicted", "kept", "kept"))).toBe("open");
  expect(verdictOf(runs("convicted", "kept", "kept", "unknown"))).toBe("chance");
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
    chargesOf({ results }, { excuses }).map(({ charge }) => charge);
  expect(charged({})).toEqual(["damage", "two holders", "told late", "stuck"]);
  expect(charged({ "two holders": "why", "told late": "why" })).toEqual(["damage", "stuck"]);
});
