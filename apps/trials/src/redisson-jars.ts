import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Missing } from "./missing.js";

const pom = fileURLToPath(new URL("../../bench/java/pom.xml", import.meta.url));
const downloadWithinMs = 180_000;
let found: string | null = null;

/**
 * The folder with the jars of the Redisson version that the measurements use. Maven brings them once.
 * @throws Missing
 */
export function redissonJars(): string {
  found ??= brought();
  return found;
}

function brought(): string {
  const version = /<artifactId>redisson<\/artifactId>\s*<version>([\d.]+)</.exec(
    readFileSync(pom, "utf8"),
  )?.[1];
  const folder = fileURLToPath(new URL(`../../../.cache/java/redisson-${version}`, import.meta.url));
  if (existsSync(folder)) return folder;
  const args = ["-q", "-B", "-f", pom, "dependency:copy-dependencies", `-DoutputDirectory=${folder}`];
  try {
    execFileSync("mvn", args, { timeout: downloadWithinMs, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw new Missing(`Maven does not bring Redisson: ${(error as Error).message.split("\n")[0]}`);
  }
  return folder;
}
