import { describe, expect, it } from "vitest";
import { type RunArguments, readRunArguments } from "../../src/cli/run-options.js";
import { shrinkFound } from "../../src/cli/shrink-found.js";
import type { ScenarioOutcome } from "../../src/engine/outcome.js";
import { drawPlan } from "../../src/engine/plan.js";
import { aboutOf } from "../../src/engine/run-scenario.js";
import type { Scenario } from "../../src/engine/scenario.js";
import { junitXml } from "../../src/report/junit.js";
import { summaryMarkdown } from "../../src/report/summary.js";
import { outcome, runOf } from "../report/outcomes.js";

const wantedBy = (...args: string[]): RunArguments => readRunArguments(args, () => 5) as RunArguments;

function convicted(scenario: Scenario): ScenarioOutcome {
  return outcome({
    scenario: aboutOf(scenario),
    outcome: "violation",
    unexpected: ["mutex"],
    plan: drawPlan(scenario, 5),
  });
}

/** Shrinks as if these faults together, and no fewer workers than `crew`, showed a violation. `guilty`: numbers of faults. */
async function shrunk(wanted: RunArguments, guilty: readonly number[], crew = 0) {
  const lines: string[] = [];
  const outcomes = await shrinkFound(wanted, runOf(...wanted.scenarios.map(convicted)), {
    capabilities: [],
    signal: new AbortController().signal,
    out: (line) => lines.push(line),
    again: async (scenario, plan) => {
      const still =
        guilty.every((each) => plan.some(({ number }) => number === each)) &&
        scenario.groups.every(({ count }) => count >= crew);
      return outcome({ outcome: still ? "violation" : "as-expected", unexpected: still ? ["mutex"] : [] });
    },
  });
  return { outcomes, text: lines.join("\n") };
}

describe("what a run found", () => {
  it("is shrunk to the faults that it needs, with the command line that shows it again", async () => {
    const wanted = wantedBy("S02-zk", "--seconds", "90");
    const { outcomes, text } = await shrunk(wanted, [3, 7], 4);
    const again = "holdfast-chaos run S02-zk --seed 5 --seconds 90 --faults 3,7";
    expect(outcomes[0]?.smallest).toMatchObject({ command: again, workers: 4 });
    expect(outcomes[0]?.smallest?.faults.map(({ number }) => number)).toEqual([3, 7]);
    expect(text).toContain(`again: ${again}`);
    expect(text).toMatch(/shrunk in \d+ tries from \d+ to 2 faults and 4 workers\n +3 \S+ .* in/);
    // The command line names exactly the faults that are left.
    const replayed = wantedBy(...again.split(" ").slice(2));
    expect(replayed.plan?.plan).toEqual(outcomes[0]?.smallest?.faults);
  });

  it("is in the reports, too", async () => {
    const { outcomes } = await shrunk(wantedBy("S02-zk"), [2]);
    for (const report of [junitXml(runOf(...outcomes)), summaryMarkdown(runOf(...outcomes))]) {
      expect(report).toContain("again: holdfast-chaos run S02-zk --seed 5 --faults 2");
    }
  });

  it("keeps the whole command line where nothing smaller shows it", async () => {
    const wanted = wantedBy("S02-redis");
    const all = drawPlan(wanted.scenarios[0] as Scenario, 5).map(({ number }) => number as number);
    const { outcomes } = await shrunk(wanted, all, 4);
    expect(outcomes[0]?.smallest).toMatchObject({
      command: "holdfast-chaos run S02-redis --seed 5",
      folder: null,
      drawn: all.length,
    });
  });

  it.each([
    { args: [], shrinks: ["S02-zk"] },
    { args: ["--shrink"], shrinks: ["Z06", "S02-zk"] },
    { args: ["--no-shrink"], shrinks: [] },
  ])("with $args is shrunk of $shrinks alone", async ({ args, shrinks }) => {
    const { outcomes } = await shrunk(wantedBy("Z06", "S02-zk", ...args), [1]);
    expect(
      outcomes.filter(({ smallest }) => smallest !== undefined).map(({ scenario }) => scenario.id),
    ).toEqual(shrinks);
  });

  it("is left alone where it came out as expected", async () => {
    const wanted = wantedBy("S02-zk", "--shrink");
    const fine = outcome({ scenario: aboutOf(wanted.scenarios[0] as Scenario) });
    const lines: string[] = [];
    const options = { capabilities: [], signal: new AbortController().signal };
    expect(await shrinkFound(wanted, runOf(fine), { ...options, out: (line) => lines.push(line) })).toEqual([
      fine,
    ]);
    expect(lines).toEqual([]);
  });
});
