// Makes the packages that are published: every workspace that is not private, as users get it. A built workspace has a file for
// each module, which our own tests and tools read. The package has a file for each entry, and no sources.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bundlePackage } from "./bundle.mjs";
import { ownerFields, readOwner } from "./owner.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const withinMs = 300_000;

/** The workspaces that are published, sorted by name. `folder` is relative to the repository's root. */
export async function published() {
  const found = [];
  for (const kind of ["packages", "apps"]) {
    for (const name of await readdir(join(root, kind))) {
      const folder = join(kind, name);
      const manifest = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8"));
      if (manifest.private !== true) found.push({ name: manifest.name, folder, manifest });
    }
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Builds and packs all packages into `folder`, which must exist; resolves with a map from name to tarball. `folder/debug` then
 * has the same modules with their source maps, in a folder for each package. The tarballs have no maps, since maps are two
 * thirds of the weight and no program needs them.
 */
export async function packAll(folder) {
  const packages = await published();
  const filters = packages.map(({ name }) => `--filter=${name}`);
  const turbo = join(root, "node_modules/.bin/turbo");
  await run(turbo, ["run", "build", ...filters, "--output-logs=errors-only"], { cwd: root, withinMs });
  const staged = await mkdtemp(join(tmpdir(), "holdfast-staged-"));
  try {
    for (const each of packages) await stage(each, staged, join(folder, "debug"));
    const folders = packages.map((each) => `./${shortName(each)}`);
    await run("npm", ["pack", "--silent", "--pack-destination", folder, ...folders], {
      cwd: staged,
      withinMs,
    });
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
  return new Map(
    packages.map(({ name, manifest: { version } }) => [
      name,
      join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`),
    ]),
  );
}

/** Puts together what users get of one package. */
async function stage(each, staged, debug) {
  const to = join(staged, shortName(each));
  await mkdir(to);
  const from = join(root, each.folder);
  const left = each.manifest.files
    .filter((file) => file.startsWith("!"))
    .map((file) => join(from, file.slice(1)));
  const shipped = each.manifest.files.filter((file) => file !== "dist" && !file.startsWith("!"));
  // The changelog may be missing: Changesets writes it at the package's first release.
  const always = ["LICENSE", "README.md", "CHANGELOG.md"].filter((file) => existsSync(join(from, file)));
  for (const file of new Set([...always, ...shipped])) {
    const filter = (path) => !left.includes(path);
    await cp(join(from, file), join(to, file), { recursive: true, filter });
  }
  const { manifest } = each;
  await bundlePackage({ manifest, from, to, debug: join(debug, shortName(each)) });
  const told = { ...shippedManifest(manifest), ...ownerFields(await readOwner(), each.folder) };
  await writeFile(join(to, "package.json"), `${JSON.stringify(told, null, 2)}\n`);
}

/**
 * Leaves out what only this repository needs. Adds `main` and `types`, by which compilers without support of `exports` find the
 * package.
 */
function shippedManifest({ scripts, devDependencies, files, exports, ...rest }) {
  const main = exports["."];
  const shipped = Object.entries(exports).map(([path, { types, default: code }]) => [
    path,
    { types, default: code },
  ]);
  return { ...rest, main: main.default, types: main.types, exports: Object.fromEntries(shipped) };
}

const shortName = ({ name }) => name.replace("@holdfast/", "");

/** Runs a command to its end; rejects with the end of its output if it fails or takes longer than `withinMs`. */
export async function run(program, args, { cwd, withinMs: timeout }) {
  try {
    return (
      await promisify(execFile)(program, args, { cwd, timeout, killSignal: "SIGKILL", maxBuffer: 2 ** 26 })
    ).stdout;
  } catch (error) {
    const { stdout = "", stderr = "", killed, code } = error;
    const end = killed ? `was ended after ${timeout} ms` : `ended with ${code}`;
    const output = `${stdout}${stderr}`.trim().slice(-3_000);
    throw new Error(`${[program, ...args].join(" ")} ${end}: ${output}`, { cause: error });
  }
}
