import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findCurator, findJava, findJavac } from "@holdfast/test-servers";
import { type Command, MissingPeer } from "./peer-process.js";

const run = promisify(execFile);
const folder = fileURLToPath(new URL("../../java/", import.meta.url));
const downloadWithinMs = 180_000;

/** The class path of Debian's Curator. @throws MissingPeer */
export async function curatorClassPath(): Promise<string> {
  const install = findCurator();
  if (install === undefined) throw new MissingPeer("no Curator: npx holdfast-servers ensure --only curator");
  return install.classPath;
}

/** The class path of the Redisson that `java/pom.xml` names, from Maven's own cache or downloaded into it. @throws MissingPeer */
export async function redissonClassPath(): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
  const file = join(scratch, "class-path");
  const args = ["-q", "-B", "-f", join(folder, "pom.xml"), "dependency:build-classpath"];
  try {
    await run("mvn", [...args, `-Dmdep.outputFile=${file}`], { timeout: downloadWithinMs });
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    const said = `${(error as { stdout?: string }).stdout ?? ""}\n${(error as Error).message}`;
    throw new MissingPeer(`Maven does not bring Redisson: ${said.trim().split("\n")[0]}`);
  } finally {
    await rm(scratch, { recursive: true });
  }
}

/**
 * Compiles one main class of `java/src/bench`, and the classes that all share, into `output`. @throws MissingPeer
 * without a JDK.
 */
export async function javaCommand(main: string, classPath: string, output: string): Promise<Command> {
  const [java, javac] = [findJava(), findJavac()];
  if (java === undefined || javac === undefined) throw new MissingPeer("no JDK");
  const sources = join(folder, "src/bench");
  // The main class of another peer is left out, because it needs another library.
  const files = (await readdir(sources)).filter(
    (file) => !/.Peer\.java$/.test(file) || file === `${main}.java`,
  );
  await run(javac, ["-d", output, "-cp", classPath, ...files.map((file) => join(sources, file))]);
  const options = [
    "-Xmx1g",
    "-Djava.net.preferIPv4Stack=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
  ];
  return { program: java, args: [...options, "-cp", `${output}:${classPath}`, `bench.${main}`] };
}
