// Projects as users have them: other packages beside ours, and a small program that uses both. Each is an empty folder into
// which the packed packages are installed as from a registry.
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { packAll, run } from "./pack.mjs";

const help = `Usage: node scripts/consumers.mjs [--only <text>] [--list]

Packs all packages and installs them into an empty project beside each supported test runner, ioredis and TypeScript;
compiles and runs a small program there.

  --only <text>   only projects with this in their name
  --list          the names of the projects
`;

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = fileURLToPath(new URL("consumers/", import.meta.url));
const withinMs = 300_000;

const strict = [
  ..."--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck false".split(" "),
  ..."--module nodenext --target es2022 --lib es2023,esnext.disposable --types node".split(" "),
];
const typesOfNode = { "@types/node": "20" };

const requireBanner = 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);';

const jest = "node_modules/jest/bin/jest.js";

const vitest = (version) => ({
  name: `vitest ${version}`,
  beside: { vitest: version },
  packages: ["core", "conformance"],
  files: ["locks.test.mjs", "conformance.test.mjs"],
  commands: [["vitest", "run", "--globals"]],
});

const ioredis = (version) => ({
  name: `ioredis ${version}`,
  beside: { ioredis: version, ...typesOfNode },
  packages: ["core", "redis-recipes"],
  files: ["given-client.mts"],
  commands: [
    ["tsc", ...strict, "given-client.mts"],
    ["node", "given-client.mjs"],
  ],
});

const typescript = (version) => ({
  name: `typescript ${version}`,
  beside: { typescript: version, "prom-client": "15", ...typesOfNode },
  packages: [
    "collectors",
    "core",
    "metrics",
    "multi-lock",
    "redis-recipes",
    "test-servers",
    "zk-protocol",
    "zk-recipes",
  ],
  files: ["types.mts"],
  commands: [["tsc", ...strict, "--noEmit", "types.mts"]],
});

/** vitest 3 brings esbuild, so one installation serves both tests. */
const vitestAndBundles = {
  name: "vitest 3, bundled by its esbuild",
  beside: { vitest: "3", "prom-client": "15" },
  packages: ["core", "conformance", "metrics"],
  files: ["locks.test.mjs", "conformance.test.mjs", "bundled.mjs"],
  commands: [
    ["vitest", "run", "--globals"],
    ...[
      ["cjs", "--format=cjs"],
      ["mjs", "--format=esm", `--banner:js=${requireBanner}`],
    ].flatMap(([suffix, ...options]) => [
      ["esbuild", "bundled.mjs", "--bundle", "--platform=node", `--outfile=out/bundle.${suffix}`, ...options],
      ["alone", `out/bundle.${suffix}`],
    ]),
  ],
};

/**
 * `packages`: which of our packages are installed (default: all). The list must also name those that they depend on. `inShare`:
 * also run by `npm test`.
 */
export const consumers = [
  vitest("1"),
  vitest("2"),
  vitestAndBundles,
  vitest("4"),
  // vitest 5 starts on Node.js 22 and newer only, so this project is installed but not run: the installation is what may fail.
  { ...vitest("5"), commands: [] },
  { name: "vitest 3, all packages", beside: { vitest: "3" }, files: [], commands: [] },
  {
    name: "jest 30",
    beside: { jest: "30", "@babel/plugin-transform-modules-commonjs": "7" },
    packages: ["core"],
    files: ["locks.test.mjs", "locks.test.cjs", "required.cjs", "jest-required.config.cjs"],
    commands: [
      // Node.js loads our ES modules itself; the tests are of both kinds.
      ["node", "--experimental-vm-modules", jest, "--config", "{}", "--testMatch", "**/*.test.[cm]js"],
      // Without a flag; our modules are translated to CommonJS.
      ["node", jest, "--config", "jest-required.config.cjs"],
    ],
  },
  { ...ioredis("5"), inShare: true },
  ioredis("6"),
  ...["5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "6.0", "7.0"].map(typescript),
];

/** Installs and runs one project; rejects with the output of the step that fails. `tarballs` is the result of `packAll`. */
export async function tryConsumer(consumer, tarballs) {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-beside-"));
  try {
    const names = consumer.packages?.map((name) => `@holdfast/${name}`) ?? [...tarballs.keys()];
    const ours = Object.fromEntries(names.map((name) => [name, `file:${tarballs.get(name)}`]));
    const manifest = {
      name: "consumer",
      private: true,
      type: "module",
      dependencies: { ...consumer.beside, ...ours },
    };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", install, { cwd: folder, withinMs });
    for (const file of consumer.files) await copyFile(join(sources, file), join(folder, file));
    for (const [command, ...args] of consumer.commands) {
      if (command === "alone") {
        await runAlone(join(folder, args[0]));
        continue;
      }
      const program = command === "node" ? process.execPath : programOf(command, folder);
      await run(program, args, { cwd: folder, withinMs });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs a file from an empty folder, from which no package can be found. */
async function runAlone(file) {
  const elsewhere = await mkdtemp(join(tmpdir(), "holdfast-alone-"));
  try {
    await copyFile(file, join(elsewhere, basename(file)));
    await run(process.execPath, [basename(file)], { cwd: elsewhere, withinMs });
  } finally {
    await rm(elsewhere, { recursive: true, force: true });
  }
}

/** The project's own program; if it has none, that of this repository. */
function programOf(command, folder) {
  const own = join(folder, "node_modules/.bin", command);
  return existsSync(own) ? own : join(root, "node_modules/.bin", command);
}

async function main() {
  const { values } = parseArgs({
    options: { only: { type: "string", default: "" }, list: { type: "boolean" }, help: { type: "boolean" } },
  });
  if (values.help) return console.log(help);
  const chosen = consumers.filter(({ name }) => name.includes(values.only));
  if (values.list) return console.log(chosen.map(({ name }) => name).join("\n"));
  if (chosen.length === 0) throw new Error(`there is no project with "${values.only}" in its name`);
  const folder = await mkdtemp(join(tmpdir(), "holdfast-packed-"));
  let failed = 0;
  try {
    const tarballs = await packAll(folder);
    for (const consumer of chosen) {
      const startedMs = performance.now();
      const failure = await tryConsumer(consumer, tarballs).then(
        () => null,
        (error) => error.message,
      );
      if (failure !== null) failed++;
      const tookS = ((performance.now() - startedMs) / 1_000).toFixed(1);
      console.log(
        `${failure === null ? "ok  " : "FAIL"} ${consumer.name} (${tookS} s)${failure === null ? "" : `\n${failure}`}`,
      );
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  console.log(`${chosen.length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
