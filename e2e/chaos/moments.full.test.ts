import { readFileSync } from "node:fs";
import { join } from "node:path";
import { catalogue, type RunOutcome } from "@holdfast/chaos";
import { expect, it } from "vitest";
import { ChaosRun } from "./run-cli.js";

const seed = process.env.HOLDFAST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
/** Those of kind and moment: named by both, without a number. */
const ids = catalogue.filter(({ id }) => /^(zk|redis|redlock)-/.test(id)).map(({ id }) => id);

it(`our recipes pass at each of the ${ids.length} moments that they have guards for`, {
  timeout: 60_000 * ids.length,
}, async () => {
  await using run = new ChaosRun((out) => ["run", ...ids, "--seed", seed, "--out", out]);
  await run.exited;
  const { outcomes } = JSON.parse(readFileSync(join(run.out, "results.json"), "utf8")) as RunOutcome;
  const told = outcomes.map(
    ({ scenario, outcome, why }) => `${scenario.id} seed ${seed}: ${outcome} (${why})`,
  );
  console.log(told.join("\n"));
  expect(outcomes.length).toBe(ids.length);
  expect(told.filter((line) => !line.includes(": as-expected"))).toEqual([]);
});
