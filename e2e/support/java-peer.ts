import { eventually } from "@holdfast/test-servers";
import type { Contention } from "./contend.js";
import { type CuratorVersion, classPathOf } from "./java-class-path.js";
import { compileJava } from "./java-compile.js";
import { CuratorMutex } from "./java-mutex.js";
import {
  CuratorReadWriteLock,
  CuratorSemaphore,
  type ReadWriteContention,
  type SemaphoreContention,
} from "./java-sharing.js";
import { LineProcess, processState } from "./line-process.js";

export { type CuratorVersion, curatorVersions } from "./java-class-path.js";
export { CuratorMutex, type HeldNode } from "./java-mutex.js";
export { CuratorReadWriteLock, CuratorSemaphore, type Half } from "./java-sharing.js";

const startWithinMs = 30_000;
const answerWithinMs = 30_000;

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

export interface CuratorClientOptions {
  readonly connect: string;
  readonly namespace?: string;
  /** Default 10,000. */
  readonly sessionTimeoutMs?: number;
  /** `user:password`: authenticates, and gives every node to that user alone (`CREATOR_ALL_ACL`). */
  readonly digest?: string;
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

/** One `CuratorFramework`: one session. */
export class CuratorClient {
  /** All that its listener was told, oldest first: `CONNECTED`, `SUSPENDED`, `RECONNECTED`, `LOST`. */
  readonly states: readonly string[];
  /** What the watches set with `watch` told, oldest first. */
  readonly watched: readonly string[];
  readonly #lines: LineProcess;
  readonly #name: string;
  readonly #onClose: () => void;
  #lastLock = 0;

  constructor(lines: LineProcess, name: string, onClose: () => void) {
    this.#lines = lines;
    this.#name = name;
    this.#onClose = onClose;
    const states: string[] = [];
    const watched: string[] = [];
    this.states = states;
    this.watched = watched;
    lines.listen((event, [client, ...words]) => {
      if (client !== name) return;
      if (event === "state") states.push(words.join(" "));
      if (event === "watched") watched.push(words.join(" "));
    });
  }

  async start(options: CuratorClientOptions): Promise<void> {
    const { connect, namespace = "", sessionTimeoutMs = 10_000, digest = "" } = options;
    await this.#ask("connect", connect, namespace, String(sessionTimeoutMs), digest);
  }

  /** What another connection needs to take over, and so to end, this session. */
  async session(): Promise<{ id: bigint; password: Uint8Array }> {
    const [id = "", password = ""] = await this.#ask("session");
    return { id: BigInt(`0x${id}`), password: Buffer.from(password, "hex") };
  }

  /** Resolves at the next change to `state`: `CONNECTED`, `SUSPENDED`, `RECONNECTED`, `LOST`. Call it before the cause. */
  async untilState(state: string, withinMs: number): Promise<void> {
    const pick = (event: string, values: string[]): boolean =>
      event === "state" && values[0] === this.#name && values[1] === state;
    await this.#lines.event(`state ${state}`, pick, withinMs);
  }

  /** A new `InterProcessMutex` object on `path`. */
  async mutex(path: string): Promise<CuratorMutex> {
    const name = this.#newName();
    await this.#lines.request("mutex", [name, this.#name, path], answerWithinMs);
    return new CuratorMutex(this.#lines, name);
  }

  /** A new `InterProcessSemaphoreV2` object on `path`. */
  async semaphore(path: string, maxLeases: number): Promise<CuratorSemaphore> {
    const name = this.#newName();
    await this.#lines.request("semaphore", [name, this.#name, path, String(maxLeases)], answerWithinMs);
    return new CuratorSemaphore(this.#lines, name);
  }

  /** A new `InterProcessReadWriteLock` object on `path`. */
  async readWriteLock(path: string): Promise<CuratorReadWriteLock> {
    const name = this.#newName();
    await this.#lines.request("readWriteLock", [name, this.#name, path], answerWithinMs);
    return new CuratorReadWriteLock(this.#lines, name);
  }

  /** A `CuratorCache` of the tree at `path`; `changes` are what its listener was told, oldest first. */
  async cache(path: string): Promise<{ readonly changes: readonly string[] }> {
    const name = this.#newName();
    const changes: string[] = [];
    this.#lines.listen((event, [cache, ...words]) => {
      if (event === "cache" && cache === name) changes.push(words.join(" "));
    });
    await this.#lines.request("cache", [name, this.#name, path], answerWithinMs);
    return { changes };
  }

  /** Sets a watch of ZooKeeper's own client; what it tells is added to `watched`, as `path type`. `tree` is persistent and recursive. */
  async watch(kind: "data" | "exists" | "children" | "tree", path: string): Promise<void> {
    await this.#ask("watch", kind, path);
  }

  /** Sets the data of a node, or creates it with its parents. */
  async put(path: string, data: string): Promise<void> {
    await this.#ask("put", path, data);
  }

  async delete(path: string): Promise<void> {
    await this.#ask("delete", path);
  }

  /** `Revoker.attemptRevoke` on a lock node. */
  async attemptRevoke(nodePath: string): Promise<void> {
    await this.#ask("attemptRevoke", nodePath);
  }

  /** What lies on the server under an absolute path, the namespace not applied, parents before children. */
  async dump(path: string): Promise<DumpedNode[]> {
    const words = await this.#ask("dump", path);
    const nodes: DumpedNode[] = [];
    for (let at = 0; at < words.length; at += 6) {
      const [nodePath = "", owner = "", czxid = "", version = "", acl = "", data = ""] = words.slice(
        at,
        at + 6,
      );
      nodes.push({
        path: nodePath,
        ephemeralOwner: BigInt(`0x${owner}`),
        czxid: BigInt(czxid),
        version: Number(version),
        acl,
        data: Buffer.from(data, "hex"),
      });
    }
    return nodes;
  }

  /** See `Contender.java`: `grants` times acquire, add one to the counter file, leave a line in the log, release. */
  async contend(contention: Contention, withinMs: number): Promise<void> {
    const { path, counterFile, logFile, grants, label } = contention;
    const args = [this.#name, path, counterFile, logFile, String(grants), label];
    await this.#lines.request("contend", args, withinMs);
  }

  /** See `SharingContender.java`. Rejects at the first violation that it sees. */
  async contendSemaphore(
    contention: SemaphoreContention,
    withinMs: number,
  ): Promise<{ readonly mostHolders: number }> {
    const { path, maxLeases, folder, grants, label } = contention;
    const args = [this.#name, path, String(maxLeases), folder, String(grants), label];
    const [most = ""] = await this.#lines.request("contendSemaphore", args, withinMs);
    return { mostHolders: Number(most) };
  }

  /** See `SharingContender.java`. Rejects at the first violation that it sees. */
  async contendReadWrite(
    contention: ReadWriteContention,
    withinMs: number,
  ): Promise<{ readonly writes: number; readonly mostReaders: number }> {
    const { path, counterFile, folder, turns, writeEvery, label } = contention;
    const args = [this.#name, path, counterFile, folder, String(turns), String(writeEvery), label];
    const [writes = "", most = ""] = await this.#lines.request("contendReadWrite", args, withinMs);
    return { writes: Number(writes), mostReaders: Number(most) };
  }

  async close(): Promise<void> {
    await this.#ask("close");
    this.#onClose();
  }

  #newName(): string {
    this.#lastLock += 1;
    return `${this.#name}/lock-${this.#lastLock}`;
  }

  #ask(command: string, ...args: string[]): Promise<string[]> {
    return this.#lines.request(command, [this.#name, ...args], answerWithinMs);
  }
}

export interface DumpedNode {
  readonly path: string;
  /** Session id, unsigned; 0 for a node that is not ephemeral. A container cannot be told from a persistent node. */
  readonly ephemeralOwner: bigint;
  readonly czxid: bigint;
  readonly version: number;
  /** `perms:scheme:id`, sorted, with commas. */
  readonly acl: string;
  readonly data: Uint8Array;
}
