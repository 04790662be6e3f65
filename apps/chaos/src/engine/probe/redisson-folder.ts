import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** This repository's cache of downloads. Each folder in it holds the jars of one version. */
const downloads = fileURLToPath(new URL("../../../../../.cache/java", import.meta.url));

/**
 * A folder with Redisson's jars: the one named by `REDISSON_JARS` if that is set, else one in the cache; undefined if
 * there is none.
 */
export function findRedisson(): string | undefined {
  const { REDISSON_JARS: named } = process.env;
  const folders = named !== undefined && named !== "" ? [named] : foldersOf(downloads);
  return folders.find((path) => filesOf(path).some((file) => /^redisson-[\d.]+\.jar$/.test(file)));
}

function foldersOf(path: string): string[] {
  return filesOf(path).map((name) => join(path, name));
}

function filesOf(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : [];
}
