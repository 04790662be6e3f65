import { eventually } from "@holdfast/test-servers";
import { LineProcess, processState } from "./line-process.js";
import { RedissonClient, type RedissonClientOptions } from "./redisson-client.js";
import { type RedissonVersion, redissonPeerClassPath } from "./redisson-versions.js";

const startWithinMs = 30_000;

const jvmOptions = [
  // Many short-lived JVMs on few cores: start fast, stay small.
  "-Xmx256m",
  "-XX:+UseSerialGC",
  "-XX:TieredStopAtLevel=1",
  "-Xshare:auto",
  "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
  "-Djava.net.preferIPv4Stack=true",
];

/** A JVM with Redisson in it, on this machine. It dies with this process, however that dies. */
export async function startRedissonPeer(options: { redisson: RedissonVersion }): Promise<RedissonPeer> {
  const classPath = await redissonPeerClassPath(options.redisson);
  const lines = new LineProcess("java", [...jvmOptions, "-cp", classPath, "holdfast.peer.RedissonPeer"]);
  try {
    const [version = ""] = await lines.event("start", (event) => event === "started", startWithinMs);
    return new RedissonPeer(lines, version);
  } catch (error) {
    await lines.kill();
    throw error;
  }
}

export class RedissonPeer implements AsyncDisposable {
  /** Of the Redisson inside, as its jar says. */
  readonly redissonVersion: string;
  readonly pid: number;
  readonly #lines: LineProcess;
  readonly #clients = new Set<RedissonClient>();
  #lastName = 0;

  constructor(lines: LineProcess, version: string) {
    this.#lines = lines;
    this.pid = lines.pid;
    this.redissonVersion = version;
  }

  /** A client with an id and connections of its own; resolves when it is connected. */
  async connect(options: RedissonClientOptions): Promise<RedissonClient> {
    this.#lastName += 1;
    const client = new RedissonClient(this.#lines, `client-${this.#lastName}`, () =>
      this.#clients.delete(client),
    );
    await client.start(options);
    this.#clients.add(client);
    return client;
  }

  /** Stops the whole process in its tracks (SIGSTOP); resolves when it stands still. Nothing is renewed meanwhile. */
  async pause(): Promise<void> {
    this.#lines.signal("SIGSTOP");
    await eventually(() => processState(this.pid) === "T", { what: `JVM ${this.pid} to stand still` });
  }

  resume(): void {
    this.#lines.signal("SIGCONT");
  }

  /** SIGKILL: what it holds stays until the lease is over. */
  kill(): Promise<void> {
    this.#clients.clear();
    return this.#lines.kill();
  }

  /** Closes every client. The process stays, for the next server. */
  async closeClients(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
  }

  /** Closes every client, then ends the process. */
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
