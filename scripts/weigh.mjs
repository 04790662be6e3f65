// Measures what our packages cost their users: on disk, with what they depend on, and at import.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { packAll, run } from "./pack.mjs";

const help = `Usage: node scripts/weigh.mjs [--starts N]

Packs all packages, installs them into an empty project, and prints what each weighs, alone and with its dependencies,
and how long it takes to import it beside the client library that it needs.

  --starts N   processes for each import, of which the median is printed; default 21
`;

const withinMs = 300_000;

/**
 * Limits in kilobytes. "own": the unpacked package; the limit is about a fifth above today's size. "installed": with everything
 * that it depends on. The collectors and the chaos runner need both client libraries there, and the dashboard needs a web
 * server.
 */
export const limits = {
  "@holdfast/chaos": { own: 1_300, installed: 7_000 },
  "@holdfast/cli": { own: 200, installed: 6_000 },
  "@holdfast/collectors": { own: 290, installed: 5_200 },
  "@holdfast/conformance": { own: 220, installed: 1_000 },
  "@holdfast/core": { own: 440, installed: 1_000 },
  "@holdfast/dashboard": { own: 3_500, installed: 28_000 },
  "@holdfast/fence": { own: 60, installed: 1_000 },
  "@holdfast/metrics": { own: 75, installed: 1_000 },
  "@holdfast/multi-lock": { own: 120, installed: 5_000 },
  "@holdfast/redis-recipes": { own: 580, installed: 5_000 },
  "@holdfast/schedules": { own: 50, installed: 1_000 },
  "@holdfast/test-servers": { own: 550, installed: 1_000 },
  "@holdfast/web-locks": { own: 50, installed: 1_000 },
  "@holdfast/zk-protocol": { own: 90, installed: 1_000 },
  "@holdfast/zk-recipes": { own: 360, installed: 5_000 },
};

/** The packages whose import is measured, each with the client library that it needs and that is measured beside it. */
export const imports = [
  { name: "@holdfast/redis-recipes", client: "ioredis" },
  { name: "@holdfast/zk-recipes", client: "node-zookeeper-client" },
];

/** Kilobytes of a package that is installed in `folder`: alone, and with what it depends on. Peer dependencies do not count. */
export async function weigh(folder, name) {
  const packages = await closure(name, folder, new Map());
  const bytes = await Promise.all([...packages.keys()].map(sizeOf));
  const kilobytes = (sum) => Math.ceil(sum / 1_000);
  return {
    own: kilobytes(bytes[0]),
    installed: kilobytes(bytes.reduce((sum, each) => sum + each, 0)),
    packages: packages.size,
  };
}

/** The folders of a package and of all that it depends on, found in the way of Node.js. */
async function closure(name, from, found) {
  const place = placeOf(name, from);
  if (found.has(place)) return found;
  found.set(place, name);
  const { dependencies = {} } = JSON.parse(await readFile(join(place, "package.json"), "utf8"));
  for (const each of Object.keys(dependencies)) await closure(each, place, found);
  return found;
}

function placeOf(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const place = join(folder, "node_modules", name);
    if (existsSync(join(place, "package.json"))) return place;
    if (folder === dirname(folder)) throw new Error(`${name} is not installed beside ${from}`);
  }
}

/** Does not count packages inside the folder: each is weighed separately. */
async function sizeOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((file) => !file.slice(folder.length).includes(`${sep}node_modules${sep}`));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, each) => sum + each, 0);
}

/**
 * How long a fresh process takes to import each of `names` from `folder`, in milliseconds: `cpu` is processor time, `wall` is
 * elapsed time. The names take turns, so that other work on the machine affects all of them alike.
 */
export async function importTimes(folder, names, starts) {
  const file = join(folder, "import-time.mjs");
  const program = `const wall = performance.now();
const cpu = process.cpuUsage();
await import(process.argv[2]);
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ cpu: (user + system) / 1_000, wall: performance.now() - wall }));
`;
  await writeFile(file, program);
  const times = new Map(names.map((name) => [name, []]));
  for (let start = 0; start < starts; start++) {
    for (const [name, seen] of times)
      seen.push(JSON.parse(await run(process.execPath, [file, name], { cwd: folder, withinMs })));
  }
  return times;
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

async function main() {
  const { values } = parseArgs({
    options: { starts: { type: "string", default: "21" }, help: { type: "boolean" } },
  });
  if (values.help) return console.log(help);
  const folder = await mkdtemp(join(tmpdir(), "holdfast-weighed-"));
  try {
    await mkdir(join(folder, "tarballs"));
    const tarballs = await packAll(join(folder, "tarballs"));
    const dependencies = Object.fromEntries(tarballs);
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
    const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", install, { cwd: folder, withinMs });
    console.log("package                    packed    own  installed  packages  (KB)");
    for (const [name, tarball] of tarballs) {
      const { own, installed, packages } = await weigh(folder, name);
      const packed = Math.ceil((await stat(tarball)).size / 1_000);
      const columns = [packed.toString().padStart(8), own.toString().padStart(6)];
      columns.push(installed.toString().padStart(10), packages.toString().padStart(9));
      console.log(`${name.padEnd(25)}${columns.join(" ")}`);
    }
    const names = imports.flatMap(({ name, client }) => [client, name]);
    const times = await importTimes(folder, ["@holdfast/core", ...names], Number(values.starts));
    console.log(`\nimport, median of ${values.starts}       cpu ms  wall ms`);
    for (const [name, seen] of times) {
      const [cpu, wall] = ["cpu", "wall"].map((kind) => median(seen.map((each) => each[kind])).toFixed(1));
      console.log(`${name.padEnd(25)} ${cpu.padStart(8)} ${wall.padStart(8)}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
