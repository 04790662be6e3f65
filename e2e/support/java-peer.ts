import { eventually } from "@holdfast/test-servers";
import type { Contention } from "./contend.js";
import { type CuratorVersion, classPathOf } from "./java-class-path.js";
import { compileJava } from "./java-compile.js";
import { LineProcess, processState } from "./line-process.js";

export { type CuratorVersion, curatorVersions } from "./java-class-path.js";

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

  /** Closes every session, then ends the process. */
  async close(): Promise<void> {
    try {
      await Promise.all([...this.#clients].map((client) => client.close()));
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
  readonly #lines: LineProcess;
  readonly #name: string;
  readonly #onClose: () => void;
  #lastMutex = 0;

  constructor(lines: LineProcess, name: string, onClose: () => void) {
    this.#lines = lines;
    this.#name = name;
    this.#onClose = onClose;
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
    this.#lastMutex += 1;
    const name = `${this.#name}/mutex-${this.#lastMutex}`;
    await this.#lines.request("mutex", [name, this.#name, path], answerWithinMs);
    return new CuratorMutex(this.#lines, name);
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

  async close(): Promise<void> {
    await this.#ask("close");
    this.#onClose();
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

export interface HeldNode {
  readonly path: string;
  readonly czxid: bigint;
}

/** One `InterProcessMutex`, always used on one thread of its own. Paths are without the namespace, as Curator tells them. */
export class CuratorMutex {
  readonly #lines: LineProcess;
  readonly #name: string;

  constructor(lines: LineProcess, name: string) {
    this.#lines = lines;
    this.#name = name;
  }

  /** Without `waitMs` Curator waits for ever and the request for 60 s. `null` when not granted in time. */
  async acquire(options: { waitMs?: number } = {}): Promise<HeldNode | null> {
    const { waitMs = -1 } = options;
    const withinMs = waitMs < 0 ? 60_000 : waitMs + answerWithinMs;
    const [granted, path = "", czxid = ""] = await this.#lines.request(
      "acquire",
      [this.#name, String(waitMs)],
      withinMs,
    );
    return granted === "true" ? { path, czxid: BigInt(czxid) } : null;
  }

  async release(): Promise<void> {
    await this.#ask("release");
  }

  /** What Curator believes: nobody tells its mutex that the session ended. */
  async holding(): Promise<boolean> {
    return (await this.#ask("holding"))[0] === "true";
  }

  /** Full paths of holder and waiters in Curator's order. */
  participants(): Promise<string[]> {
    return this.#ask("participants");
  }

  /** Listens for a revocation of the *next* acquire, as Curator does; `revoked` resolves when it is asked for. */
  async makeRevocable(withinMs = 30_000): Promise<{ readonly revoked: Promise<void> }> {
    const pick = (event: string, values: string[]): boolean =>
      event === "revoked" && values[0] === this.#name;
    const revoked = this.#lines.event("revocation", pick, withinMs).then(() => {});
    // Whoever asks after the fact still gets the rejection; until then it must not count as unhandled.
    revoked.catch(() => {});
    await this.#ask("makeRevocable");
    return { revoked };
  }

  #ask(command: string, ...args: string[]): Promise<string[]> {
    return this.#lines.request(command, [this.#name, ...args], answerWithinMs);
  }
}
