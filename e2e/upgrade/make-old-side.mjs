// Makes the old side of the tests in this folder: the locks of an earlier commit, one file for each backend.
//
//   node e2e/upgrade/make-old-side.mjs <commit>
//
// Run it after a release, with the commit of that release, and commit what it writes. The files are built from the history
// alone. They do not contain ioredis and node-zookeeper-client, which come from this repository's node_modules.
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
// rolldown comes with vitest.
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("../..", import.meta.url));
const target = fileURLToPath(new URL("old/", import.meta.url));
/** A package that others import comes before them. */
const packages = ["core", "zk-protocol", "zk-recipes", "redis-recipes", "multi-lock"];
const entries = [
  { file: "zookeeper-locks.mjs", name: "zk-recipes", exports: "zookeeperLocks" },
  { file: "redis-locks.mjs", name: "redis-recipes", exports: "redisLocks" },
  { file: "red-locks.mjs", name: "multi-lock", exports: "redLocks" },
];

const [asked] = process.argv.slice(2);
if (asked === undefined) {
  console.error("Usage: node e2e/upgrade/make-old-side.mjs <commit>");
  process.exit(2);
}
const commit = fullName(asked);
const folder = await mkdtemp(join(tmpdir(), "holdfast-old-side-"));
try {
  await checkOut();
  await linkDependencies();
  for (const name of packages) build(name);
  await mkdir(target, { recursive: true });
  for (const entry of entries) await bundle(entry);
  await writeFile(join(target, "commit.txt"), `${commit}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

function fullName(name) {
  try {
    const args = ["rev-parse", "--verify", "--quiet", `${name}^{commit}`];
    return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  } catch {
    console.error(
      `The history of this repository does not have the commit ${name}. In a shallow clone, "git fetch --unshallow" gets it.`,
    );
    process.exit(1);
  }
}

async function checkOut() {
  const wanted = ["tsconfig.base.json", ...packages.map((name) => `packages/${name}`)];
  const archive = execFileSync("git", ["archive", commit, ...wanted], {
    cwd: root,
    maxBuffer: 256 * 1024 * 1024,
  });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
}

/** Links the packages of other authors as they are today, and our own packages as they are in the commit. */
async function linkDependencies() {
  const modules = join(folder, "node_modules");
  await mkdir(join(modules, "@holdfast"), { recursive: true });
  for (const name of await readdir(join(root, "node_modules"))) {
    if (!name.startsWith(".") && name !== "@holdfast") {
      await symlink(join(root, "node_modules", name), join(modules, name));
    }
  }
  for (const name of packages) {
    await symlink(join(folder, "packages", name), join(modules, "@holdfast", name));
  }
}

function build(name) {
  const tsc = join(root, "node_modules/.bin/tsc");
  const options = ["-p", join(folder, "packages", name, "tsconfig.build.json"), "--sourceMap", "false"];
  execFileSync(tsc, [...options, "--declarationMap", "false"], { cwd: folder, stdio: "inherit" });
}

async function bundle({ file, name, exports }) {
  const entry = join(folder, `${name}.js`);
  await writeFile(entry, `export { ${exports} } from "@holdfast/${name}";\n`);
  const bundled = await rolldown({
    input: entry,
    platform: "node",
    external: ["ioredis", "node-zookeeper-client"],
    treeshake: { moduleSideEffects: false },
  });
  const { output } = await bundled.generate({
    format: "esm",
    comments: false,
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  });
  const from = `@holdfast/${name} of ${commit}, with what it needs of ours`;
  await writeFile(
    join(target, file),
    `// ${from}. Made by make-old-side.mjs; do not edit.\n${output[0].code}`,
  );
  await bundled.close();
}
