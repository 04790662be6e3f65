import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { madeOnce } from "../process/made-once.js";
import { run } from "../process/run.js";
import { share } from "../share.js";

/** The oldest Curator with which the layout promises to share locks, and the one that `e2e/java/pom.xml` names. */
export type CuratorVersion = "5.4.0" | "newest";

/** Jars that Maven can download. The pom names one version, in the property `<id>.version`. */
export interface MavenProject {
  /** The name that people use. */
  readonly name: string;
  readonly id: string;
  readonly pomFile: string;
}

const oldest = "5.4.0";
const curator: MavenProject = {
  name: "Curator",
  id: "curator",
  pomFile: fileURLToPath(new URL("../../java/pom.xml", import.meta.url)),
};
export const javaCacheDir: string = fileURLToPath(new URL("../../../.cache/java", import.meta.url));

/** Where Debian and Ubuntu put the jars of `libcurator-recipes-java`; their manifests name the rest. */
const debianJars = ["curator-recipes-5.4.0.jar", "slf4j-simple.jar"].map((jar) =>
  join("/usr/share/java", jar),
);

const downloadWithinMs = 120_000;
/**
 * A download that failed is not tried again within this time. Each test file is a process of its own, and each would wait for
 * the network again.
 */
const tryAgainAfterMs = 600_000;

/**
 * The newest Curator version of this machine, for `describe.each`; in a full run all versions. Each run needs both only where
 * the two differ, in nodes or in behaviour: a JVM costs seconds.
 */
export async function curatorVersionsInShare(): Promise<CuratorVersion[]> {
  const all = await curatorVersions();
  return all.slice(-share("releases of Curator", 1, all.length));
}

/**
 * The Curator versions that this machine can run, for `describe.each`. The oldest is required: without it this rejects. When
 * the newest cannot be had, the reason is printed, since a run with one version shows less than a run with two.
 */
export async function curatorVersions(): Promise<CuratorVersion[]> {
  await classPathOf(oldest);
  try {
    await classPathOf("newest");
    return [oldest, "newest"];
  } catch (error) {
    console.log(`interop with the newest Curator is left out: ${(error as Error).message}`);
    return [oldest];
  }
}

const found = new Map<CuratorVersion, Promise<string>>();

/** Keeps the result, also of a failure, so that each process tries the download at most once. */
export function classPathOf(version: CuratorVersion): Promise<string> {
  let path = found.get(version);
  if (path === undefined) {
    path = version === oldest && debianJars.every((jar) => existsSync(jar)) ? debian() : download(version);
    found.set(version, path);
  }
  return path;
}

async function debian(): Promise<string> {
  return debianJars.join(":");
}

function download(version: CuratorVersion): Promise<string> {
  return mavenClassPath(curator, version === "newest" ? undefined : version);
}

/**
 * The class path, from the cache or by a download. Without `version`, it takes the version that the pom names. Rejects with the
 * reason when it cannot be had.
 */
export async function mavenClassPath(project: MavenProject, version?: string): Promise<string> {
  const pom = await readFile(project.pomFile, "utf8");
  const wanted = version ?? versionIn(pom, project);
  const hash = createHash("sha256").update(pom).digest("hex").slice(0, 8);
  const jarDir = join(javaCacheDir, `${project.id}-${wanted}-${hash}`);
  await fetchJars(project, wanted, jarDir);
  const jars = (await readdir(jarDir)).filter((file) => file.endsWith(".jar"));
  return jars
    .sort()
    .map((jar) => join(jarDir, jar))
    .join(":");
}

function versionIn(pom: string, { id, pomFile }: MavenProject): string {
  const version = new RegExp(`<${id}\\.version>([^<]+)<`).exec(pom)?.[1];
  if (version === undefined) throw new Error(`${pomFile} names no ${id}.version`);
  return version;
}

async function fetchJars(project: MavenProject, version: string, jarDir: string): Promise<void> {
  const failureNote = `${jarDir}.failed`;
  await madeOnce(jarDir, downloadWithinMs, async (folder) => {
    const known = await recentText(failureNote);
    if (known !== null)
      throw new Error(`${known} (not tried again within ${tryAgainAfterMs / 60_000} minutes)`);
    const projectDir = await mkdtemp(join(tmpdir(), "holdfast-maven-"));
    try {
      await cp(project.pomFile, join(projectDir, "pom.xml"));
      const settings = [
        `-D${project.id}.version=${version}`,
        `-DoutputDirectory=${folder}`,
        "-DincludeScope=runtime",
      ];
      const impatience = ["-Dmaven.wagon.http.connectionTimeout=10000", "-Dmaven.wagon.rto=60000"];
      await run("mvn", ["-q", "-B", "dependency:copy-dependencies", ...settings, ...impatience], {
        cwd: projectDir,
        withinMs: downloadWithinMs,
      });
    } catch (error) {
      const message = `${project.name} ${version} could not be had from Maven Central: ${(error as Error).message}`;
      await writeFile(failureNote, message);
      throw new Error(message);
    } finally {
      await rm(projectDir, { recursive: true, force: true });
    }
  });
}

/** The text of the file; `null` when there is none, or it is older than `tryAgainAfterMs`. */
async function recentText(file: string): Promise<string | null> {
  if (!existsSync(file)) return null;
  const { mtimeMs } = await stat(file);
  return Date.now() - mtimeMs < tryAgainAfterMs ? await readFile(file, "utf8") : null;
}
