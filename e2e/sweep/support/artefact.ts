import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes the log of a failed run to a file that stays after the run, and returns its path. */
export function writeLog(name: string, lines: readonly string[]): string {
  const folder = join(process.cwd(), "test-results", "sweep");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name.replace(/[^a-z0-9]+/gi, "-").slice(0, 100)}.log`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}
