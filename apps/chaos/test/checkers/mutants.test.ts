import { describe, expect, it } from "vitest";
import { judge } from "../../src/checkers/judge.js";
import { mutants } from "../../src/checkers/self-test/mutants.js";
import { simulate } from "../../src/checkers/self-test/simulated-recipe.js";
import { historyOf } from "../../src/history/read.js";

const convicted = (records: ReturnType<typeof simulate>): string[] =>
  judge(historyOf(records))
    .filter(({ verdict }) => verdict === "violation")
    .map(({ checker, summary }) => `${checker}: ${summary}`);

describe("the simulated recipe", () => {
  it.each([2, 3])("passes every checker with all its guards, seed %i", (seed) => {
    const results = judge(historyOf(simulate(seed)));
    expect(results.filter(({ verdict }) => verdict === "violation")).toEqual([]);
    const unproved = results.filter(({ verdict }) => verdict === "unknown").map(({ checker }) => checker);
    expect(unproved).toEqual([]);
  });

  it.each(mutants)("without '$without' is convicted by $convictedBy", ({ without, convictedBy }) => {
    for (const seed of [2, 3]) {
      const names = convicted(simulate(seed, without)).map((text) => text.slice(0, text.indexOf(":")));
      expect(names, `seed ${seed}`).toContain(convictedBy);
    }
  });
});
