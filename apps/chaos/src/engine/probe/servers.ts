import { findCurator, findJava, findJavac, findRedis, findZooKeeper } from "@holdfast/test-servers";
import { runProgram } from "../machine/run-program.js";
import { type Finding, found, lacks } from "./finding.js";
import { findRedisson } from "./redisson-folder.js";

const ensure = (component: string): string => `npx holdfast-servers ensure --only ${component}`;
const oldestRedis = 7;

export async function probeJava(): Promise<Finding> {
  const java = findJava();
  if (java === undefined) return lacks("no Java of version 11 or later", ensure("java"));
  return found(java);
}

export async function probeZooKeeper(): Promise<Finding> {
  const install = findZooKeeper();
  if (install === undefined) return lacks("no ZooKeeper server", ensure("java,zookeeper"));
  return found(`ZooKeeper from ${install.from}`);
}

export async function probeRedis(): Promise<Finding> {
  const install = findRedis();
  if (install === undefined) return lacks("no Redis server", ensure("redis"));
  // One program has several names and acts by the name by which it is called.
  const said = await runProgram(install.server, ["--version"], { argv0: "redis-server" });
  const version = /\bv=([\d.]+)/.exec(said)?.[1] ?? "?";
  if (Number.parseInt(version, 10) < oldestRedis) {
    return lacks(`Redis ${version} is too old`, `Redis ${oldestRedis}.0 or later, named by REDIS_SERVER`);
  }
  return found(`Redis ${version} from ${install.from}`);
}

/** Looks for the needs of Java workers: jars, and a compiler for our program that uses them. */
export async function probeCurator(): Promise<Finding> {
  const install = findCurator();
  if (findJavac() === undefined) return lacks("no Java compiler", ensure("javac"));
  if (install === undefined) return lacks("no jars of Apache Curator", ensure("curator"));
  return found(`Curator from ${install.from}`);
}

export async function probeRedisson(): Promise<Finding> {
  if (findJavac() === undefined) return lacks("no Java compiler", ensure("javac"));
  const folder = findRedisson();
  if (folder === undefined) {
    return lacks(
      "no jar of Redisson",
      "a folder with redisson-<version>.jar and what it needs, named by REDISSON_JARS",
    );
  }
  return found(`Redisson in ${folder}`);
}
