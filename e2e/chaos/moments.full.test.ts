import { readFileSync } from "node:fs";
import { join } from "node:path";
import { catalogue, type RunOutcome } from "@holdfast/chaos";
import { expect, it } from "vitest";
import { redissonVersions } from "../support/redisson/redisson-versions.js";
import { ChaosRun } from "./run-cli.js";

const seed = process.env.HOLDFAST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
/** Fetches the jars that the twins of the scenarios with Redisson need. */
await redissonVersions();
const named = (pattern: RegExp): string[] => catalogue.map(({ id }) => id).filter((id) => pattern.test(id));

it.each([
  // These ids name kind and moment, without a number.
  ["at the moments that they have guards for", named(/^(zk|redis|redlock)-(?!.*-kept$)/)],
  ["with locks that are kept for their next owners", named(/-kept$/)],
])("our recipes pass %s", { timeout: 60_000 * catalogue.length }, async (_, ids) => {
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
