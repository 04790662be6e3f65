// What `npm test` runs: all checks and tests, in the order in which a mistake is cheapest to find.
import { mkdir, readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { serverReleases } from "./server-releases.mjs";
import { runStage } from "./stage.mjs";
import { runTests, testStages } from "./test-stages.mjs";

const help = `Usage: npm test [-- [--full] [-- <vitest filters and options>]]

Builds, checks types, packages and style, installs missing test servers where the machine allows it, and runs all
tests: those that need no server, then those against real ones. The last line is "N passed, N failed"; a failed stage
and a skipped test each count as a failure.

  --full   the full counts instead of a share of them, without a time limit, and then a share of the tests of servers
           on further releases of ZooKeeper, Redis and Valkey, which it downloads (npm run test:full)
  --help   this text

  npm test -- -- packages/core        only test files whose path contains packages/core
  npm test -- -- -t "double release"  only tests of that name; the others then do not count as skipped
`;

const minute = 60_000;

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const { full, filters } = readArguments(process.argv.slice(2));
const env = full ? { HOLDFAST_FULL: "1" } : {};
const limitMs = (minutes) => (full ? Number.POSITIVE_INFINITY : minutes * minute);

const totals = { passed: 0, failed: 0 };
const summary = [];

if (await nodeIsNewEnough()) {
  const built = await stage("build", [bin("turbo"), "run", "build", "--output-logs=errors-only"], 4);
  // Tells the tests that the packages are built, so that no test builds them again.
  if (built) process.env.HOLDFAST_BUILT = "1";
  const checks = ["run", "//#check-types", "typecheck", "--concurrency=2", "--output-logs=errors-only"];
  await stage("types", [bin("turbo"), ...checks], 4);
  await stage("style", [bin("biome"), "check", "--error-on-warnings", "."], 1);
  if (full) await stage("tools", ["node", "scripts/check-tools.mjs"], 15);
  const servers =
    built && (await stage("servers", ["node", "packages/test-servers/dist/cli.js", "ensure"], 9));
  await mkdir("test-results", { recursive: true });
  for (const each of testStages) {
    // Only the unit tests need no server.
    if (servers || each.project === "unit") await tests(each);
    else summary.push(`tests ${each.project}: not run, a stage before it failed`);
  }
  if (full && servers && filters.length === 0)
    for (const release of serverReleases) await testsOnRelease(release);
  if (!full)
    summary.push(`left to npm run test:full: ${await fullOnlyFiles()} files, and the rest of each share`);
}

console.log(`\n${summary.join("\n")}\n`);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode ||= totals.failed === 0 && totals.passed > 0 ? 0 : 1;

function readArguments(args) {
  const at = args.indexOf("--");
  const own = at < 0 ? args : args.slice(0, at);
  try {
    const { values } = parseArgs({
      args: own,
      options: { full: { type: "boolean" }, help: { type: "boolean" } },
    });
    if (values.help) {
      console.log(help);
      process.exit(0);
    }
    return { full: values.full === true, filters: at < 0 ? [] : args.slice(at + 1) };
  } catch (error) {
    console.error(`${error.message}\n\n${help}`);
    process.exit(2);
  }
}

async function nodeIsNewEnough() {
  const wanted = JSON.parse(await readFile("package.json", "utf8")).engines.node;
  const [major, minor] = process.versions.node.split(".").map(Number);
  const [wantedMajor, wantedMinor] = wanted.replace(">=", "").split(".").map(Number);
  const ok = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  if (!ok) {
    totals.failed += 1;
    summary.push(`Node.js ${process.versions.node} is too old: holdfast needs ${wanted}`);
  }
  return ok;
}

/** The number of test files that vitest.config.ts leaves to full runs. */
async function fullOnlyFiles() {
  const files = await readdir("e2e", { recursive: true });
  return files.filter((file) => file.endsWith(".full.test.ts")).length;
}

function bin(name) {
  return `node_modules/.bin/${name}`;
}

async function stage(name, command, minutes) {
  const result = await runStage(name, command, { limitMs: limitMs(minutes), env });
  if (result.failure !== null) totals.failed += 1;
  summary.push(`${name}: ${result.failure ?? "ok"} (${seconds(result.tookMs)})`);
  if (process.exitCode === 130) finishInterrupted();
  return result.failure === null;
}

async function tests(each, other = {}) {
  const options = { name: each.project, env, filters, ...other };
  const limit = limitMs(each.limitMinutes);
  const { passed, failed, remarks, tookMs } = await runTests(each, { limitMs: limit, ...options });
  totals.passed += passed;
  totals.failed += failed;
  summary.push(`tests ${options.name}: ${passed} passed, ${failed} failed (${seconds(tookMs)})`);
  summary.push(...remarks.map((remark) => `  ${remark}`));
  if (process.exitCode === 130) finishInterrupted();
  return passed;
}

/** Runs a part of the server's tests on another release of it. */
async function testsOnRelease({ name, project, filters: paths, environment }) {
  try {
    const releaseEnv = await environment();
    const stage = testStages.find((each) => each.project === project);
    const passed = await tests(stage, { name: `${project} on ${name}`, env: releaseEnv, filters: paths });
    if (passed === 0) throw new Error("no test fits");
  } catch (error) {
    totals.failed += 1;
    summary.push(`tests ${project} on ${name}: ${error.message}`);
  }
}

function finishInterrupted() {
  console.log(`\n${summary.join("\n")}\ninterrupted\n`);
  console.log(`${totals.passed} passed, ${Math.max(totals.failed, 1)} failed`);
  process.exit(130);
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}
