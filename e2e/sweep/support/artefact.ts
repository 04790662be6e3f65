import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes what a failed run did where it outlives the run, and returns the path. */
export function writeLog(name: string, lines: readonly string[]): string {
  const folder = join(process.cwd(), "test-results", "sweep");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name.replace(/[^a-z0-9]+/gi, "-").slice(0, 100)}.log`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}
