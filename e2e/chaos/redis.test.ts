import { readFileSync } from "node:fs";
import { join } from "node:path";
import { catalogue, type RunOutcome } from "@holdfast/chaos";
import { describe, expect, it } from "vitest";
import { drawn, share } from "../support/share.js";
import { ChaosRun } from "./run-cli.js";

const full = process.env.HOLDFAST_FULL === "1";
/** The scenarios that a machine can always run: no namespaces, no shims, no Java. */
const rows = catalogue.filter(
  ({ id, needs = [], topology }) =>
    /^R\d/.test(id) &&
    needs.length === 0 &&
    !("namespaces" in topology || "shims" in topology || "smallDisk" in topology),
);
/** The smoke run has other scenarios. */
const inShare = [
  "R10",
  ...drawn("violations at a Redis beside the smoke run", ["R04", "R13-stale"], 1, String),
];

/** One run takes seconds; a machine under load gets ten times as much. */
const limitMs = full ? 7_200_000 : 600_000;

async function outcomesOf(ids: readonly string[], seed: number): Promise<readonly string[]> {
  await using run = new ChaosRun((out) => [
    "run",
    ...ids,
    "--seed",
    String(seed),
    "--keep",
    "failed",
    "--out",
    out,
  ]);
  const { code } = await run.exited;
  const { outcomes } = JSON.parse(readFileSync(join(run.out, "results.json"), "utf8")) as RunOutcome;
  const told = outcomes.map(
    ({ scenario, outcome, why }) =>
      `${scenario.id} seed ${seed}: ${outcome}${outcome === "as-expected" ? "" : ` (${why})`}`,
  );
  console.log(told.join("\n"));
  if (outcomes.every(({ outcome }) => outcome === "as-expected"))
    expect({ code, output: run.output }).toMatchObject({ code: 0 });
  else expect(code).not.toBe(0);
  return told;
}

// The tests run side by side, because most of a run is a wait for a fault.
describe.concurrent("the rows of Redis", () => {
  it.each([
    { what: "expected violation is demonstrated", runs: 5, wanted: true },
    { what: "expected pass passes", runs: 10, wanted: false },
  ])(
    "every $what, $runs times of $runs in a full run",
    async ({ what, runs, wanted }) => {
      const ids = rows
        .filter(({ expect: { violation = [] } }) => violation.length > 0 === wanted)
        .map(({ id }) => id)
        .filter((id) => full || inShare.includes(id));
      expect(ids.length).toBeGreaterThan(0);
      const count = share(`runs in which every ${what}: ${ids.join(" ")}`, 1, runs);
      const told: string[] = [];
      for (let seed = 1; seed <= count; seed++) told.push(...(await outcomesOf(ids, seed)));
      expect(told.filter((line) => !line.endsWith("as-expected"))).toEqual([]);
      expect(told).toHaveLength(ids.length * count);
    },
    limitMs,
  );
});
