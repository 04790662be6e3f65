// Rehearses a release: packs everything, publishes it into a registry on this machine, and installs it from there as a user
// would. At the end, and after an interruption, every process that it started has ended and every file that it wrote is
// deleted.
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { tool } from "./tools.mjs";

const help = `Usage: npm run rehearse [-- --node 20,22,24] [--only <text>] [--database URL]

Packs all packages, publishes them into a registry (verdaccio) on a fresh port of 127.0.0.1, and installs them from there
into empty projects on each Node.js: the two programs of README.md as they stand there, and the folder examples. The
registry asks the one that npm is configured for when it is asked for a package of others. Needs that one to be reachable.

  --node 20,22,24   lines of Node.js; each comes as the npm package "node"
  --only <text>     only examples with this in their name
  --database URL    a PostgreSQL server for the example that needs one; without it that one is left out
  --help            this text

The other servers are started here.

Exit: 0 all ran; 1 something failed; 2 wrong arguments; 130 interrupted, 143 ended by SIGTERM.
`;

const root = fileURLToPath(new URL("..", import.meta.url));
const minute = 60_000;

/** Examples that run until a signal ends them, each with the beginning of the line by which it says that it is ready. */
const services = {
  "leader.mjs": "leading",
  "metrics.mjs": "listening on ",
  "orders-service.mjs": "listening on ",
};
const noPrograms = ["stock.mjs", "vitest.config.mjs"];

const interruption = new AbortController();
const running = new Set();
let folder;
let failures = 0;

await main();

async function main() {
  const options = readOptions();
  if (options === null) return;
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ])
    process.once(signal, () => {
      process.exitCode = code;
      interruption.abort(new Error(`interrupted by ${signal}`));
      for (const program of running) end(program);
    });
  folder = await mkdtemp(join(tmpdir(), "holdfast-rehearsal-"));
  try {
    await rehearse(options);
    process.exitCode ??= failures === 0 ? 0 : 1;
  } catch (error) {
    console.error(`\n${error.message}`);
    process.exitCode ??= 1;
  } finally {
    await Promise.all([...running].map(end));
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    say(`everything is taken down; ${failures} failed`);
  }
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        node: { type: "string", default: "20,22,24" },
        only: { type: "string", default: "" },
        database: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
    if (values.help) {
      console.log(help);
      return null;
    }
    const lines = values.node.split(",");
    if (!lines.every((line) => /^\d+$/.test(line))) throw new TypeError(`--node is ${values.node}`);
    return { lines, only: values.only, database: values.database };
  } catch (error) {
    console.error(`${error.message}\n\n${help}`);
    process.exitCode = 2;
    return null;
  }
}

async function rehearse({ lines, only, database }) {
  const upstream = (await run("npm", ["config", "get", "registry"])).trim();
  const runtimes = new Map();
  for (const line of lines) runtimes.set(line, await installNode(line));
  const registry = await startRegistry(upstream, runtimes);
  const npmrc = join(folder, "npmrc");
  const token = `${registry.replace("http:", "")}:_authToken=rehearsal`;
  // npm gets its own cache. The user's cache would keep these tarballs under names and versions that are published only later.
  await writeFile(
    npmrc,
    `registry=${registry}\n${token}\ncache=${join(folder, "cache")}\nfund=false\naudit=false\n`,
  );
  const env = { npm_config_userconfig: npmrc, npm_config_registry: registry };
  const told = await step("publish all packages", () =>
    run(process.execPath, [join(root, "scripts/publish.mjs"), "--registry", registry], {
      env,
      withinMs: 10 * minute,
    }),
  );
  if (told === undefined) return;
  say(`  ${told.match(/^New tag: /gm)?.length ?? 0} packages are in the registry`);
  const { startRedis } = await import("../packages/test-servers/dist/index.js");
  const redis = await startRedis();
  try {
    for (const [line, bin] of runtimes) {
      const nodeEnv = { ...env, PATH: `${bin}${delimiter}${process.env.PATH}` };
      say(`Node.js ${(await run("node", ["--version"], { env: nodeEnv })).trim()}`);
      await readmePrograms(line, nodeEnv, redis);
      await examples(line, nodeEnv, redis, { only, database });
    }
  } finally {
    await redis.stop();
  }
}

/** Installs Node.js of that line; resolves with the folder of its program `node`. */
async function installNode(line) {
  const place = join(folder, `node-${line}`);
  await mkdir(place);
  await writeFile(join(place, "package.json"), '{ "private": true }');
  const install = ["install", "--no-audit", "--no-fund", "--loglevel=error", `node@${line}`];
  const installed = await step(`install Node.js ${line}`, () =>
    run("npm", install, { cwd: place, withinMs: 5 * minute }),
  );
  interruption.signal.throwIfAborted();
  if (installed === undefined) throw new Error(`Node.js ${line} cannot be installed`);
  return join(place, "node_modules/.bin");
}

/** Starts the registry; resolves with its URL once it answers. */
async function startRegistry(upstream, runtimes) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = {
    storage: join(folder, "registry"),
    uplinks: { upstream: { url: upstream, cache: true, timeout: "120s", max_fails: 20 } },
    packages: {
      "@holdfast/*": { access: "$all", publish: "$all", unpublish: "$all" },
      "**": { access: "$all", proxy: "upstream" },
    },
    max_body_size: "50mb",
    log: { type: "stdout", format: "json", level: "warn" },
  };
  const file = join(folder, "verdaccio.yaml");
  await writeFile(file, JSON.stringify(config));
  // The registry needs Node.js 22 or newer. It reads its configuration as YAML, and JSON is valid YAML.
  const major = Number(process.versions.node.split(".")[0]);
  const line = [...runtimes.keys()].find((each) => Number(each) >= 22);
  if (major < 22 && line === undefined)
    throw new Error("the registry needs Node.js 22 or newer: add it to --node");
  const node = major >= 22 ? process.execPath : join(runtimes.get(line), "node");
  const program = start(node, [await tool("verdaccio"), "--config", file, "--listen", `127.0.0.1:${port}`]);
  await until(program, "the registry answers", async () => (await fetch(`${url}-/ping`)).ok);
  say(`a registry is on ${url}, in front of ${upstream}`);
  return url;
}

/** Follows README.md as a user would: its commands and its program, with only the ports changed. */
async function readmePrograms(line, env, redis) {
  const readme = await readFile(join(root, "README.md"), "utf8");
  for (const backend of ["Redis", "ZooKeeper"]) {
    await step(`README.md, ${backend}`, async () => {
      const part = readme.split(`\n## ${backend}\n`)[1] ?? "";
      const commands = /```sh\n([\s\S]*?)```/.exec(part)?.[1]?.split("\n") ?? [];
      const program = /```js\n([\s\S]*?)```/.exec(part)?.[1] ?? "";
      const place = join(folder, `readme-${backend}-${line}`);
      await mkdir(place);
      const [install = "", server = ""] = commands.map((each) => each.replace(/\s+#.*$/, ""));
      await run("sh", ["-c", install], { cwd: place, env, withinMs: 5 * minute });
      const zookeeper = backend === "ZooKeeper" ? await startZooKeeper(place, env, server) : null;
      const address = zookeeper?.address ?? new URL(redis.url).host;
      await writeFile(join(place, "lock.mjs"), program.replace(/127\.0\.0\.1:\d+/, address));
      const told = await run("node", ["lock.mjs"], { cwd: place, env });
      if (!told.includes("holding orders/42")) throw new Error(`it said ${JSON.stringify(told)}`);
      if (zookeeper) await end(zookeeper.program);
    });
  }
}

async function examples(line, env, redis, { only, database }) {
  const place = join(folder, `examples-${line}`);
  const filter = (path) => basename(path) !== "node_modules";
  await cp(join(root, "examples"), place, { recursive: true, filter });
  const install = () =>
    run("npm", ["install", "--loglevel=error"], { cwd: place, env, withinMs: 10 * minute });
  if ((await step("install the examples", install)) === undefined) return;
  const zookeeper = await startZooKeeper(place, env, "npx holdfast-zookeeper --port 2181");
  const servers = { REDIS_URL: redis.url, ZOOKEEPER_CONNECT: zookeeper.address, PORT: "0" };
  if (database !== undefined) servers.DATABASE_URL = database;
  const options = { cwd: place, env: { ...env, ...servers } };
  const files = (await readdir(place)).filter((file) => file.endsWith(".mjs") && file.includes(only)).sort();
  for (const file of files.filter((each) => !each.endsWith(".test.mjs") && !noPrograms.includes(each))) {
    if (file.includes("postgresql") && database === undefined)
      say(`  left out: examples/${file}, because --database names no server`);
    else if (file in services)
      await step(`examples/${file}`, () => runService(file, services[file], options));
    else await step(`examples/${file}`, () => run("node", [file], { ...options, withinMs: 2 * minute }));
  }
  await step("the tests of the examples", () =>
    run("npx", ["vitest", "run"], { ...options, withinMs: 3 * minute }),
  );
  await end(zookeeper.program);
}

/** Runs `command` as a page has it, on a fresh port. */
async function startZooKeeper(cwd, env, command) {
  const port = await freePort();
  const line = command
    .replace(/^npx (\S+)/, "exec node_modules/.bin/$1")
    .replace(/--port \d+/, `--port ${port}`);
  const program = start("sh", ["-c", line], { cwd, env });
  await until(program, "ZooKeeper listens", async () => program.output.includes(String(port)));
  return { program, address: `127.0.0.1:${port}` };
}

/** The service must print its line, and must end when SIGTERM asks it to. */
async function runService(file, line, options) {
  const program = start("node", [file], options);
  await until(program, `${file} says "${line}"`, async () => program.output.includes(line));
  await end(program);
  const { code, signal } = await program.ended;
  if (signal !== "SIGTERM" && code !== 0)
    throw new Error(`${file} ended with ${code ?? signal}: ${program.output}`);
}

/** Runs `work` and prints one line with its name and result; `undefined` if it failed. */
async function step(name, work) {
  interruption.signal.throwIfAborted();
  const startedMs = performance.now();
  const took = () => `${((performance.now() - startedMs) / 1_000).toFixed(1)} s`;
  try {
    const result = await work();
    say(`  ok    ${name} (${took()})`);
    return result ?? null;
  } catch (error) {
    interruption.signal.throwIfAborted();
    failures++;
    say(`  FAIL  ${name} (${took()}): ${error.message}`);
    return undefined;
  }
}

function say(text) {
  console.log(text);
}

/** Runs a command to its end; resolves with its stdout. Rejects with the end of its output if it fails or takes longer. */
async function run(command, args, { withinMs = minute, ...options } = {}) {
  const program = start(command, args, options);
  const timer = setTimeout(() => end(program), withinMs);
  const { code, signal } = await program.ended;
  clearTimeout(timer);
  interruption.signal.throwIfAborted();
  if (code === 0) return program.stdout;
  throw new Error(
    `${[basename(command), ...args].join(" ")} ended with ${code ?? signal}: ${program.output.slice(-3_000)}`,
  );
}

function start(command, args, { cwd = folder, env = {} } = {}) {
  interruption.signal.throwIfAborted();
  // A process group of its own: so we can end everything that it starts, and a terminal's SIGINT reaches this process alone.
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const program = { child, stdout: "", output: "", ended: null };
  program.ended = new Promise((resolve) => {
    child.once("error", (error) => {
      program.output += error.message;
      resolve({ code: 127, signal: null });
    });
    child.once("close", (code, signal) => resolve({ code, signal }));
  }).finally(() => running.delete(program));
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => {
      program.output += text;
      if (stream === child.stdout) program.stdout += text;
    });
  running.add(program);
  return program;
}

/** Asks the program's process group to end, and kills it after ten seconds. */
async function end(program) {
  const kill = (signal) => {
    try {
      process.kill(-program.child.pid, signal);
    } catch (error) {
      // The group has already ended.
      if (error.code !== "ESRCH") throw error;
    }
  };
  if (program.child.pid === undefined || !running.has(program)) return;
  kill("SIGTERM");
  const timer = setTimeout(() => kill("SIGKILL"), 10_000);
  await program.ended;
  clearTimeout(timer);
}

/** Tries `isSo` until it is true; rejects if the program ends first, or after a minute. */
async function until(program, what, isSo) {
  const deadlineMs = performance.now() + minute;
  for (;;) {
    interruption.signal.throwIfAborted();
    if (await isSo().catch(() => false)) return;
    if (!running.has(program)) throw new Error(`${what}: it ended before: ${program.output.slice(-3_000)}`);
    if (performance.now() > deadlineMs)
      throw new Error(`${what}: not within a minute: ${program.output.slice(-3_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
