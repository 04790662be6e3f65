import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { madeOnce } from "../process/made-once.js";
import { run } from "../process/run.js";
import { javaCacheDir } from "./java-class-path.js";

const compileWithinMs = 60_000;
const sourceDir = fileURLToPath(new URL("../../java/src", import.meta.url));

/** All `.java` files of a folder and those under it, sorted. */
export async function javaFilesIn(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  return files
    .filter((file) => file.endsWith(".java"))
    .sort()
    .map((file) => join(folder, file));
}

/**
 * Compiles sources, by default `e2e/java/src`, against one class path and returns the folder of the classes. The folder is
 * named by a hash of both. So the compiler runs once for each state of the sources, and classes of an older state are never
 * used.
 */
export async function compileJava(classPath: string, sources?: readonly string[]): Promise<string> {
  const files = sources ?? (await javaFilesIn(sourceDir));
  const hash = createHash("sha256").update(classPath);
  for (const file of files) hash.update(`\0${file}\0`).update(await readFile(file));
  const finished = join(javaCacheDir, `classes-${hash.digest("hex").slice(0, 16)}`);
  await madeOnce(finished, compileWithinMs, async (folder) => {
    const options = ["--release", "17", "-Xlint:all,-path,-classfile", "-d", folder, "-cp", classPath];
    await run("javac", [...options, ...files], { withinMs: compileWithinMs });
  });
  return finished;
}
