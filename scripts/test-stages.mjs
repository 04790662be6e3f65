import { rm } from "node:fs/promises";
import { runStage } from "./stage.mjs";
import { choosesTests, judge, readReport, redsOf } from "./vitest-report.mjs";

/**
 * The projects of vitest.config.ts in the order in which a mistake is cheapest to find. `limitMinutes` is more than twice what
 * the stage takes on two busy cores, so only a stage that hangs reaches it. `workers`: files at a time.
 *
 * @type {readonly { project: string, workers: number, fullWorkers?: number, limitMinutes: number }[]}
 */
export const testStages = [
  // Some of these files wait for timers; six at a time keep two cores busy. In a full run most of them calculate.
  { project: "unit", workers: 6, fullWorkers: 4, limitMinutes: 8 },
  // Most of these tests wait for sessions and JVMs, so six files at a time fit on two cores.
  { project: "servers", workers: 6, fullWorkers: 4, limitMinutes: 16 },
  // These tests measure times, which many other tests beside them would distort. Two files at a time have a core each.
  { project: "alone", workers: 2, limitMinutes: 7 },
  // Most of these files wait for leases of a second or two to run out. In a full run they keep a core busy.
  { project: "redis", workers: 10, fullWorkers: 3, limitMinutes: 12 },
  // Each file has a browser, which mostly waits for the page.
  { project: "dashboard", workers: 3, limitMinutes: 6 },
  // The smoke run waits for its faults, so the others fit beside it. In a full run one file has two runs at a time.
  { project: "chaos", workers: 4, fullWorkers: 3, limitMinutes: 8 },
];

/**
 * Runs the tests of one project and reads vitest's report of them.
 *
 * @param {typeof testStages[number]} stage
 * @param {{ limitMs: number, env?: Record<string, string>, filters?: readonly string[], directory?: string, name?: string, log?: number }} options
 *   `log`: a file descriptor that takes the output instead of ours
 * @returns {Promise<{ passed: number, failed: number, remarks: string[], reds: import("./vitest-report.mjs").Red[], tookMs: number }>}
 */
export async function runTests(stage, options) {
  const { project, workers, fullWorkers = workers } = stage;
  const { filters = [], directory = "test-results", name = project, limitMs, env, log } = options;
  const file = `${directory}/${name}.json`;
  await rm(file, { force: true });
  const reporters = ["default", "json", "./scripts/errors-outside-tests.mjs"].map(
    (each) => `--reporter=${each}`,
  );
  const outside = `${directory}/${name}.outside.json`;
  await rm(outside, { force: true });
  // A filter may leave a project without any test.
  const partial = filters.length > 0 ? ["--passWithNoTests", ...filters] : [];
  const full = (env?.HOLDFAST_FULL ?? process.env.HOLDFAST_FULL) === "1";
  const atATime = `--maxWorkers=${full ? fullWorkers : workers}`;
  const command = ["node_modules/.bin/vitest", "run", "--project", project, atATime];
  const result = await runStage(
    `tests ${name}`,
    [...command, ...reporters, `--outputFile.json=${file}`, ...partial],
    {
      limitMs,
      env: { ...env, HOLDFAST_OUTSIDE_ERRORS: outside },
      log,
    },
  );
  const report = await readReport(file);
  const outsideErrors = (await readReport(outside)) ?? [];
  const verdict = judge(report, result.failure, choosesTests(filters), outsideErrors);
  return { ...verdict, reds: redsOf(report, outsideErrors), tookMs: result.tookMs };
}
