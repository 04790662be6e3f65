import { readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findCurator, findJava, findJavac } from "@holdfast/test-servers";
import { runProgram } from "../../engine/machine/run-program.js";
import { SweptFolder } from "../../engine/machine/swept-folder.js";
import { findRedisson } from "../../engine/probe/redisson-folder.js";
import type { WorkerProgram } from "../../engine/worker-process.js";

const sources = fileURLToPath(new URL("../../../java/holdfast/chaos", import.meta.url));
/** Compiling takes a second on a machine that does nothing else. */
const compileWithinMs = 120_000;

/** Options for JVMs that start quickly and stay small, because many of them share a small machine. */
const modest = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx160m", "-Xss512k"];

/**
 * The workers in Java, by the name of their recipe. Each is compiled once in the life of this process, when it is first
 * needed.
 */
export const javaPrograms: Readonly<Record<string, () => Promise<WorkerProgram>>> = {
  curator: once(() => program("CuratorWorker", findCurator()?.classPath, "jars of Apache Curator")),
  redisson: once(() => program("RedissonWorker", folderPath(findRedisson()), "jars of Redisson")),
};

async function program(main: string, jars: string | undefined, what: string): Promise<WorkerProgram> {
  const [java, javac] = [findJava(), findJavac()];
  if (java === undefined || javac === undefined) throw new Error("there is no Java, or no Java compiler");
  if (jars === undefined) throw new Error(`there are no ${what}`);
  const classes = await compile(javac, main, jars);
  const quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error";
  return {
    command: java,
    args: [...modest, quiet, "-cp", [classes, jars].join(delimiter), `holdfast.chaos.${main}`],
  };
}

/** Compiles a worker and returns the folder of the classes, which is removed when this process ends. */
async function compile(javac: string, main: string, jars: string): Promise<string> {
  const { path } = new SweptFolder("java");
  const files = readdirSync(sources).filter(
    (file) => file === `${main}.java` || !file.endsWith("Worker.java"),
  );
  // Both workers need the class `Worker`, which speaks the protocol.
  const all = [...files, "Worker.java"].map((file) => join(sources, file));
  await runProgram(javac, ["--release", "11", "-nowarn", "-d", path, "-cp", jars, ...all], {
    withinMs: compileWithinMs,
  });
  return path;
}

const folderPath = (folder: string | undefined): string | undefined =>
  folder === undefined ? undefined : join(folder, "*");

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
