// What is published: every workspace that is not private.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const withinMs = 300_000;

/** The packages as they stand in the repository, sorted by name: `folder` is relative to its root. */
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

/** Builds and packs all of them into `folder`, which exists; resolves with the tarball of each name. */
export async function packAll(folder) {
  const packages = await published();
  const filters = packages.map(({ name }) => `--filter=${name}`);
  const turbo = join(root, "node_modules/.bin/turbo");
  await run(turbo, ["run", "build", ...filters, "--output-logs=errors-only"], { cwd: root, withinMs });
  const workspaces = packages.flatMap((each) => ["--workspace", each.folder]);
  await run("npm", ["pack", "--silent", "--pack-destination", folder, ...workspaces], {
    cwd: root,
    withinMs,
  });
  return new Map(
    packages.map(({ name, manifest: { version } }) => [
      name,
      join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`),
    ]),
  );
}

/** Runs a command to its end; rejects with the end of its output when it fails or takes longer. */
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
