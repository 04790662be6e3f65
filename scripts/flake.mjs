// Runs tests many times, on request beside busy processes. Then it lists the red ones and says how to run each again.
import { execFile, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { describeReds, RedBook, seedsIn } from "./flake-report.mjs";
import { runStage } from "./stage.mjs";
import { runTests, testStages } from "./test-stages.mjs";

const help = `Usage: npm run flake -- [<path filter>...] [options]

Runs tests again and again and reports which of them were red, with their seeds, errors and the line that runs one of
them again. A log of each run stays in test-results/flake. Without a filter and without --stage, each run is a run of
all test stages. Exit code 0: every run was green; 1: a run was red; 130: interrupted.

  --stage NAME   a stage of npm test: ${testStages.map(({ project }) => project).join(", ")}; may be given several times
  --times N      how many runs (default 10)
  --load N       how many processes that keep a core busy run beside the tests (default 0)
  --full         the full counts instead of a share of them
  --help         this text

  npm run flake -- e2e/redis/collector --times 20 --load 2
  npm run flake -- --stage redis --times 10
`;

const names = testStages.map(({ project }) => project);
const { values: flags, positionals: filters } = readArguments();
process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const directory = `test-results/flake/${new Date().toISOString().replace(/[:.]/g, "-")}`;
const env = flags.full ? { HOLDFAST_FULL: "1" } : {};
const book = new RedBook();

await mkdir(directory, { recursive: true });
await prepare();
const stages = await stagesToRun();
console.log(
  `${flags.times} runs of ${stages.map(({ project }) => project).join(", ")} beside ${flags.load} busy processes; logs in ${directory}`,
);
const load = Array.from({ length: flags.load }, startBusyProcess);
try {
  for (let run = 1; run <= flags.times && process.exitCode !== 130; run++)
    for (const stage of stages) if (process.exitCode !== 130) await once(stage, run);
} finally {
  for (const busy of load) busy.kill("SIGKILL");
}
console.log(`\n${describeReds(book)}`);
process.exitCode ||= book.redRuns === 0 ? 0 : 1;

function readArguments() {
  try {
    const options = {
      stage: { type: "string", multiple: true, default: [] },
      times: { type: "string", default: "10" },
      load: { type: "string", default: "0" },
      full: { type: "boolean", default: false },
      help: { type: "boolean" },
    };
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (values.help) {
      console.log(help);
      process.exit(0);
    }
    const unknown = values.stage.find((name) => !names.includes(name));
    if (unknown !== undefined)
      throw new Error(`--stage ${unknown}: there is no such stage, only ${names.join(", ")}`);
    return {
      positionals,
      values: { ...values, times: count("times", values.times, 1), load: count("load", values.load, 0) },
    };
  } catch (error) {
    console.error(`${error.message}\n\n${help}`);
    process.exit(2);
  }
}

function count(name, text, least) {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least && number <= 10_000) return number;
  throw new Error(`--${name} must be a whole number from ${least} to 10000; got ${JSON.stringify(text)}`);
}

/** Builds the packages and installs the servers that the tests start. */
async function prepare() {
  const steps = [
    ["build", ["node_modules/.bin/turbo", "run", "build", "--output-logs=errors-only"]],
    ["servers", ["node", "packages/test-servers/dist/cli.js", "ensure"]],
  ];
  for (const [name, command] of steps) {
    const { failure } = await runStage(name, command, { limitMs: Number.POSITIVE_INFINITY });
    if (failure === null) continue;
    console.error(`${name} ${failure}`);
    process.exit(2);
  }
}

/** The stages that `--stage` names, or all. If there is a filter: only those stages with a file whose path matches it. */
async function stagesToRun() {
  const wanted = testStages.filter(
    ({ project }) => flags.stage.length === 0 || flags.stage.includes(project),
  );
  if (filters.length === 0) return wanted;
  const found = `${directory}/files.json`;
  const list = ["list", "--filesOnly", `--json=${found}`, ...filters];
  await promisify(execFile)("node_modules/.bin/vitest", list);
  const files = JSON.parse(await readFile(found, "utf8"));
  const projects = new Set(files.map(({ projectName }) => projectName));
  const matching = wanted.filter(({ project }) => projects.has(project));
  if (matching.length > 0) return matching;
  console.error(`no test file has ${filters.join(" or ")} in its path`);
  process.exit(2);
}

async function once(stage, run) {
  const name = `${stage.project}-${String(run).padStart(String(flags.times).length, "0")}`;
  const path = `${directory}/${name}.log`;
  const log = openSync(path, "w");
  const limitMs = flags.full ? Number.POSITIVE_INFINITY : stage.limitMinutes * 60_000 * (1 + flags.load);
  const result = await runTests(stage, { limitMs, env, filters, directory, name, log });
  closeSync(log);
  if (process.exitCode === 130) return;
  const { passed, failed, remarks, reds, tookMs } = result;
  console.log(
    `run ${run} of ${flags.times}, ${stage.project}: ${passed} passed, ${failed} failed (${(tookMs / 1000).toFixed(1)} s)  ${path}`,
  );
  for (const remark of remarks) console.log(`  ${remark}`);
  if (failed === 0) return;
  const text = await readFile(path, "utf8");
  const found = reds.map((red) => ({ ...red, file: relative(process.cwd(), red.file) }));
  // An error outside of any test is in the log alone.
  const all = found.length > 0 ? found : [{ file: "", test: null, error: remarks.join("\n") }];
  book.add(all.map((red) => ({ ...red, project: stage.project, seeds: seedsIn(text, red.file), log: path })));
}

/** Keeps a core busy until it is killed. It also ends with this process, because its input ends then. */
function startBusyProcess() {
  const program =
    'process.stdin.resume().on("end", () => process.exit()); const turn = () => { const until = Date.now() + 50; while (Date.now() < until); setImmediate(turn); }; turn();';
  return spawn(process.execPath, ["-e", program], { stdio: ["pipe", "ignore", "inherit"] });
}
