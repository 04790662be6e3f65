// Counts what a reader has to read: code lines by package and folder, and the files that run in one acquire and release.
import { readdirSync, readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const help = `Usage: node scripts/lines.mjs [options]

Prints code lines, which are lines that are no comment, not blank and no part of an import, of the sources of each package and of
each folder in it. With --acquire it prints instead which source files run in one acquire and release of a free mutex, on ZooKeeper
(embedded) and on Redis (a real server, as found by @holdfast/test-servers); the packages have to be built.

  --package NAME   only packages whose path contains NAME
  --match REGEX    only files whose path matches, with a last row for all of them
  --except REGEX   with --match: no files whose path matches this
  --acquire        the files of one acquire and release
  --files          with --acquire: each of them
  --json           for other programs
  --help           this text
`;

const root = fileURLToPath(new URL("..", import.meta.url));
const { values: flags } = parseArgs({
  options: {
    package: { type: "string" },
    match: { type: "string" },
    except: { type: "string" },
    acquire: { type: "boolean" },
    files: { type: "boolean" },
    json: { type: "boolean" },
    help: { type: "boolean" },
  },
});
if (flags.help) console.log(help);
else if (flags.acquire) await printAcquire();
else printLines();

function printLines() {
  const rows = [];
  for (const group of ["packages", "apps"])
    for (const name of readdirSync(join(root, group)).sort()) {
      const source = join(root, group, name, "src");
      const place = `${group}/${name}`;
      if (flags.package !== undefined && !place.includes(flags.package)) continue;
      rows.push(...foldersOf(source, place));
    }
  if (flags.match !== undefined) rows.push(sumOf(rows));
  if (flags.json) console.log(JSON.stringify(rows, null, 2));
  else
    console.log(
      table(["folder", "files", "lines", "code"], rows, ({ folder, files, lines, code }) => [
        folder,
        files,
        lines,
        code,
      ]),
    );
}

/** Only the rows of whole packages are summed; their folders are counted in them. */
function sumOf(rows) {
  const sum = { folder: "all of them", files: 0, lines: 0, code: 0 };
  for (const row of rows)
    if (!row.folder.includes("/src")) for (const key of ["files", "lines", "code"]) sum[key] += row[key];
  return sum;
}

function isMeant(file) {
  const path = relative(root, file);
  if (flags.match === undefined) return true;
  return new RegExp(flags.match).test(path) && !(flags.except && new RegExp(flags.except).test(path));
}

/** A row for the package as a whole, and a row for each folder with the files that lie directly in it. */
function foldersOf(source, place) {
  const folders = new Map();
  const whole = { folder: place, files: 0, lines: 0, code: 0 };
  for (const file of sourcesIn(source).filter(isMeant)) {
    const counted = count(readFileSync(file, "utf8"));
    const inside = relative(source, file).split(sep).slice(0, -1).join("/");
    const folder = `${place}/src${inside === "" ? "" : `/${inside}`}`;
    const row = folders.get(folder) ?? { folder, files: 0, lines: 0, code: 0 };
    folders.set(folder, row);
    for (const each of [whole, row]) {
      each.files += 1;
      each.lines += counted.lines;
      each.code += counted.code;
    }
  }
  return whole.files === 0 ? [] : [whole, ...[...folders.values()].sort(byFolder)];
}

function byFolder(one, other) {
  return one.folder < other.folder ? -1 : 1;
}

function sourcesIn(folder) {
  try {
    return readdirSync(folder, { recursive: true })
      .filter((file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts"))
      .map((file) => join(folder, file))
      .sort();
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

/**
 * Judges line by line. A comment behind code counts as code. In a template, a line that begins like a comment counts as a
 * comment.
 */
function count(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  let code = 0;
  let skipping = null;
  for (const line of lines) {
    const said = line.trim();
    if (skipping !== null) {
      if (skipping.test(said)) skipping = null;
    } else if (said.startsWith("/*")) {
      if (!said.includes("*/")) skipping = /\*\//;
    } else if (/^(import|export) (type )?(\{|\*|[\w$]+,? )/.test(said) && isModuleClause(said)) {
      if (!/["'];?$/.test(said)) skipping = /from ["'].*["'];?$/;
    } else if (/^import ["']/.test(said)) {
      // An import for its side effects is no code line.
    } else if (said !== "" && !said.startsWith("//")) code += 1;
  }
  return { lines: lines.length, code };
}

/** True for `export { a } from "b"` and each import; false for `export const`. */
function isModuleClause(said) {
  return said.startsWith("import") || /^export (type )?(\{|\*)/.test(said);
}

async function printAcquire() {
  const runs = { zookeeper: await onZooKeeper(), redis: await onRedis() };
  if (flags.json) {
    console.log(JSON.stringify(runs, null, 2));
    return;
  }
  for (const [backend, files] of Object.entries(runs)) {
    const code = files.reduce((sum, file) => sum + file.code, 0);
    console.log(`${backend}: ${files.length} files, ${code} code lines`);
    const folders = new Map();
    for (const file of files) {
      const folder = file.file.split("/").slice(0, -1).join("/");
      const row = folders.get(folder) ?? { folder, files: 0, code: 0 };
      folders.set(folder, { ...row, files: row.files + 1, code: row.code + file.code });
    }
    const rows = flags.files ? files : [...folders.values()];
    console.log(
      `${table([flags.files ? "file" : "folder", "files", "code"], rows, (row) => [row.file ?? row.folder, row.files ?? 1, row.code])}\n`,
    );
  }
}

async function onZooKeeper() {
  const { startEmbeddedZooKeeper } = await built("packages/test-servers/dist/index.js");
  const { zookeeperLocks } = await built("packages/zk-recipes/dist/index.js");
  const server = await startEmbeddedZooKeeper();
  const locks = zookeeperLocks({ connect: server.connectString });
  try {
    return await filesOf(locks.mutex("counted"), /packages\/(core|zk-recipes|zk-protocol)\/dist\//);
  } finally {
    await locks.close();
    await server.stop();
  }
}

async function onRedis() {
  const { startRedis } = await built("packages/test-servers/dist/index.js");
  const { redisLocks } = await built("packages/redis-recipes/dist/index.js");
  const server = await startRedis();
  const locks = redisLocks({ url: server.url });
  try {
    return await filesOf(locks.mutex("counted"), /packages\/(core|redis-recipes)\/dist\//);
  } finally {
    await locks.close();
    await server.stop();
  }
}

async function built(path) {
  return await import(pathToFileURL(join(root, path)).href);
}

/** The source files with a function that runs in one acquire and release. An earlier acquire has made what is made once. */
async function filesOf(mutex, pattern) {
  await (await mutex.acquire()).release();
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await (await mutex.acquire()).release();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  return result
    .filter(({ url, functions }) => pattern.test(url) && functions.some(ran))
    .map(({ url }) => sourceOf(url))
    .sort((one, other) => (one.file < other.file ? -1 : 1));
}

/** The function without a name is the module itself, which ran when it was loaded. */
function ran({ functionName, ranges }) {
  return functionName !== "" && ranges.some(({ count: times }) => times > 0);
}

function sourceOf(url) {
  const file = relative(root, fileURLToPath(url)).replace("/dist/", "/src/").replace(/\.js$/, ".ts");
  return { file, ...count(readFileSync(join(root, file), "utf8")) };
}

function table(head, rows, cellsOf) {
  const lines = [head, ...rows.map((row) => cellsOf(row).map(String))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
        .join("  "),
    )
    .join("\n");
}
