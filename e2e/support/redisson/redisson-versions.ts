import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type MavenProject, mavenClassPath } from "../java/java-class-path.js";
import { compileJava, javaFilesIn } from "../java/java-compile.js";

/** The Redisson that `e2e/redis/java/pom.xml` names, and the last one of the major version before. */
export type RedissonVersion = "4.x" | "3.x";

const redisson: MavenProject = {
  name: "Redisson",
  id: "redisson",
  pomFile: fileURLToPath(new URL("../../redis/java/pom.xml", import.meta.url)),
};
const last3 = "3.52.0";

const sourceDir = fileURLToPath(new URL("../../redis/java/src", import.meta.url));
/** Classes of the Curator peer that need no Curator. */
const sharedDir = fileURLToPath(new URL("../../java/src/holdfast/peer", import.meta.url));
const sharedFiles = ["Command.java", "Known.java", "Line.java", "Presence.java"];

export interface RedissonChoice {
  readonly version: RedissonVersion;
  /** Why it cannot run on this machine; `null` when it can. */
  readonly missing: string | null;
}

/** Both versions, for `describe.each`. The test has to report a missing one: Redisson does not come with any system. */
export async function redissonVersions(): Promise<RedissonChoice[]> {
  const choices: RedissonChoice[] = [];
  // One after the other: two Mavens at once would write to one local repository.
  for (const version of ["4.x", "3.x"] as const) {
    const missing = await redissonClassPath(version).then(
      () => null,
      (error: Error) => error.message,
    );
    choices.push({ version, missing });
  }
  return choices;
}

const found = new Map<RedissonVersion, Promise<string>>();

/** Keeps the result, also of a failure, so that each process tries the download at most once. */
function redissonClassPath(version: RedissonVersion): Promise<string> {
  let path = found.get(version);
  if (path === undefined) {
    path = mavenClassPath(redisson, version === "3.x" ? last3 : undefined);
    found.set(version, path);
  }
  return path;
}

/** The class path of Redisson and of our peer, which is compiled against that version. */
export async function redissonPeerClassPath(version: RedissonVersion): Promise<string> {
  const jars = await redissonClassPath(version);
  const shared = sharedFiles.map((file) => join(sharedDir, file));
  const classes = await compileJava(jars, [...shared, ...(await javaFilesIn(sourceDir))]);
  return `${classes}:${jars}`;
}
