import { eventually } from "@holdfast/test-servers";
import { type CuratorVersion, classPathOf } from "./java-class-path.js";
import { CuratorClient, type CuratorClientOptions } from "./java-client.js";
import { compileJava } from "./java-compile.js";
import { LineProcess, processState } from "./line-process.js";

export { type CuratorVersion, curatorVersions } from "./java-class-path.js";
export { CuratorClient, type CuratorClientOptions, type DumpedNode } from "./java-client.js";
export type { CuratorLeaderLatch, CuratorLeaderSelector } from "./java-leader.js";
export type { CuratorMutex } from "./java-mutex.js";
export type { HeldNode } from "./java-recipe.js";
export type { CuratorReadWriteLock, CuratorSemaphore, Half } from "./java-sharing.js";

const startWithinMs = 30_000;

const jvmOptions = [
  // Many short-lived JVMs on few cores: start fast, stay small.
  "-Xmx256m",
  "-XX:+UseSerialGC",
  "-XX:TieredStopAtLevel=1",
  "-Xshare:auto",
  "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
  // The IP text that Curator puts into its nodes comes from here too; IPv4 keeps it the same on all machines.
  "-Djava.net.preferIPv4Stack=true",
];

/** A JVM with Curator in it, on this machine. It dies with this process, however that dies. */
export async function startJavaPeer(options: { curator: CuratorVersion }): Promise<JavaPeer> {
  const classPath = await classPathOf(options.curator);
  const classes = await compileJava(classPath);
  const lines = new LineProcess("java", [
    ...jvmOptions,
    "-cp",
    `${classes}:${classPath}`,
    "holdfast.peer.Peer",
  ]);
  try {
    const [version = ""] = await lines.event("start", (event) => event === "started", startWithinMs);
    return new JavaPeer(lines, version);
  } catch (error) {
    await lines.kill();
    throw error;
  }
}

export class JavaPeer implements AsyncDisposable {
  /** Of the Curator inside, as its jar says. */
  readonly curatorVersion: string;
  readonly pid: number;
  readonly #lines: LineProcess;
  readonly #clients = new Set<CuratorClient>();
  #lastName = 0;

  constructor(lines: LineProcess, curatorVersion: string) {
    this.#lines = lines;
    this.pid = lines.pid;
    this.curatorVersion = curatorVersion;
  }

  /** A client with a session of its own; resolves when it is connected. */
  async connect(options: CuratorClientOptions): Promise<CuratorClient> {
    this.#lastName += 1;
    const client = new CuratorClient(this.#lines, `client-${this.#lastName}`, () =>
      this.#clients.delete(client),
    );
    await client.start(options);
    this.#clients.add(client);
    return client;
  }

  /** Stops the whole process in its tracks (SIGSTOP); resolves when it stands still. Its sessions time out meanwhile. */
  async pause(): Promise<void> {
    this.#lines.signal("SIGSTOP");
    await eventually(() => processState(this.pid) === "T", { what: `JVM ${this.pid} to stand still` });
  }

  resume(): void {
    this.#lines.signal("SIGCONT");
  }

  /** SIGKILL: sessions live on at the server until they time out. */
  kill(): Promise<void> {
    this.#clients.clear();
    return this.#lines.kill();
  }

  /** Closes every session. The process stays, for the next server. */
  async closeClients(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
  }

  /** Closes every session, then ends the process. */
  async close(): Promise<void> {
    try {
      await this.closeClients();
    } finally {
      await this.#lines.end(5_000);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
