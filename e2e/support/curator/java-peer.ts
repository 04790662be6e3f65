import { type CuratorVersion, classPathOf } from "../java/java-class-path.js";
import { compileJava } from "../java/java-compile.js";
import { JvmPeer, startJvm } from "../java/jvm-peer.js";
import type { LineProcess } from "../process/line-process.js";
import { CuratorClient, type CuratorClientOptions } from "./java-client.js";

export { type CuratorVersion, curatorVersions, curatorVersionsInShare } from "../java/java-class-path.js";
export { CuratorClient, type CuratorClientOptions, type DumpedNode } from "./java-client.js";
export type { CuratorLeaderLatch, CuratorLeaderSelector } from "./java-leader.js";
export type { CuratorMutex } from "./java-mutex.js";
export type { HeldNode } from "./java-recipe.js";
export type { CuratorReadWriteLock, CuratorSemaphore, Half } from "./java-sharing.js";

/** A JVM with Curator in it. */
export async function startJavaPeer(options: { curator: CuratorVersion }): Promise<JavaPeer> {
  const classPath = await classPathOf(options.curator);
  const classes = await compileJava(classPath);
  return startJvm(
    `${classes}:${classPath}`,
    "holdfast.peer.Peer",
    (lines, version) => new JavaPeer(lines, version),
  );
}

export class JavaPeer extends JvmPeer<CuratorClient, CuratorClientOptions> {
  /** The version of Curator in this JVM, as its jar says. */
  readonly curatorVersion: string;

  constructor(lines: LineProcess, curatorVersion: string) {
    super(lines, (...given) => new CuratorClient(...given));
    this.curatorVersion = curatorVersion;
  }
}
