import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A fresh folder in the system's temporary folder. The caller removes it with `removeScratchFolder`. */
export function makeScratchFolder(name: string): string {
  return mkdtempSync(join(realpathSync(tmpdir()), `holdfast-${name}-`));
}

export function removeScratchFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}

/** The last lines of a log, to be shown in an error; empty text if there is no log. */
export function logTail(file: string, lines = 40): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return "";
  }
  const tail = text.trimEnd().split("\n").slice(-lines).join("\n");
  return tail === "" ? "(its log is empty)" : `the end of its log:\n${tail}`;
}
