// Server releases besides the system's own: where each comes from, and how the tests are made to use it.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

/**
 * @typedef {object} ServerRelease
 * @property {string} name as in the summary of a run
 * @property {string} project of vitest.config.ts
 * @property {readonly string[]} filters paths of the tests that must pass on this release
 * @property {() => Promise<Record<string, string>>} environment downloads the release if it is not in the cache; resolves with
 *   the environment variables by which the tests find it
 */

const run = promisify(execFile);
const cache = resolve(".cache/servers");
const bringWithinMs = 300_000;

const zookeeperTests = ["e2e/zookeeper/conformance", "e2e/zookeeper/features", "e2e/behaviours/zookeeper"];
const redisTests = [
  "e2e/redis/conformance",
  "e2e/redis/start/rights",
  "e2e/redis/defects",
  "e2e/redis/behaviours",
  "e2e/redis/interop",
];

/** @type {readonly ServerRelease[]} */
export const serverReleases = [
  zookeeper("3.5.10", "1.7.36"),
  zookeeper("3.9.5", "2.0.13"),
  redis("Redis 8.0", "redis"),
  redis("Valkey 8.1", "valkey"),
];

/** A release of ZooKeeper from Maven Central. `slf4j`: the generation of the logger that it was built against. */
function zookeeper(version, slf4j) {
  const home = join(cache, `zookeeper-${version}`);
  return {
    name: `ZooKeeper ${version}`,
    project: "servers",
    filters: zookeeperTests,
    environment: async () => {
      await once(home, async (staged) => {
        const properties = [`-Dzookeeper.version=${version}`, `-Dslf4j.version=${slf4j}`];
        const place = [`-DoutputDirectory=${join(staged, "lib")}`, "-DincludeScope=runtime"];
        const copy = ["-q", "-B", "-f", "e2e/java-zookeeper/pom.xml", "dependency:copy-dependencies"];
        await run("mvn", [...copy, ...properties, ...place], { timeout: bringWithinMs });
      });
      return { ZOOKEEPER_HOME: home };
    },
  };
}

/**
 * A release from the next Debian. It comes with the libraries that it was built against, because those of this system, its C
 * library included, may be too old. `project`: `redis` or `valkey`.
 */
function redis(name, project) {
  return {
    name,
    project: "redis",
    filters: redisTests,
    environment: async () => {
      const home = join(cache, "debian-trixie");
      await once(home, async (staged) => {
        await unpackNextDebian(staged, ["redis-tools", "valkey-tools"]);
        for (const each of ["redis", "valkey"]) await writeStarter(staged, each);
      });
      return { REDIS_SERVER: join(home, `${project}-server`) };
    },
  };
}

/** Makes a folder completely or not at all, so that an interrupted download does not look finished. */
async function once(folder, fill) {
  if (existsSync(folder)) return;
  await mkdir(cache, { recursive: true });
  const staged = await mkdtemp(join(cache, ".staged-"));
  try {
    await fill(staged);
    await rename(staged, folder);
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

/** Unpacks the packages with all that they depend on, from this system's mirror. The system's own packages do not change. */
async function unpackNextDebian(folder, packages) {
  const apt = await mkdtemp(join(cache, ".apt-"));
  try {
    for (const each of ["state/lists/partial", "archives/partial"])
      await mkdir(join(apt, each), { recursive: true });
    await writeFile(join(apt, "state/status"), "");
    const source = `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${await mirror()} trixie main\n`;
    await writeFile(join(apt, "sources.list"), source);
    const settings = {
      "Dir::Etc::SourceList": join(apt, "sources.list"),
      "Dir::Etc::SourceParts": "/dev/null",
      "Dir::State": join(apt, "state"),
      "Dir::State::status": join(apt, "state/status"),
      "Dir::Cache": apt,
      "Dir::Cache::archives": join(apt, "archives"),
      "Acquire::Retries": "3",
      "APT::Sandbox::User": "root",
    };
    const options = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
    const install = ["install", "-y", "-qq", "--download-only", "--no-install-recommends", ...packages];
    for (const words of [["update", "-qq"], install])
      await run("apt-get", [...options, ...words], { timeout: bringWithinMs });
    for (const file of await readdir(join(apt, "archives")))
      if (file.endsWith(".deb"))
        await run("dpkg-deb", ["-x", join(apt, "archives", file), join(folder, "root")]);
  } finally {
    await rm(apt, { recursive: true, force: true });
  }
}

/** The mirror from which this system gets its Debian packages. */
async function mirror() {
  const wanted = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Component: main"];
  const { stdout } = await run("apt-get", [...wanted, "Label: Debian"]);
  const [first] = stdout.split("\n");
  if (first === undefined || first === "") throw new Error("apt-get names no mirror of Debian");
  return first;
}

/** Writes `<project>-server`, which starts the server program with the loader and the libraries of its own Debian release. */
async function writeStarter(folder, project) {
  const libraries = join("usr/lib", await only(join(folder, "root/usr/lib"), /-linux-gnu$/));
  const loader = join(libraries, await only(join(folder, "root", libraries), /^ld-linux.*\.so/));
  const starter = join(folder, `${project}-server`);
  const lines = [
    "#!/bin/sh",
    'root="$(dirname "$(readlink -f "$0")")/root"',
    `exec "$root/${loader}" --library-path "$root/${libraries}" --argv0 ${project}-server \\`,
    `  "$root/usr/bin/${project}-check-rdb" "$@"`,
  ];
  await writeFile(starter, `${lines.join("\n")}\n`);
  await chmod(starter, 0o755);
}

async function only(folder, pattern) {
  const found = (await readdir(folder)).find((name) => pattern.test(name));
  if (found === undefined) throw new Error(`${folder} has nothing like ${pattern}`);
  return found;
}
