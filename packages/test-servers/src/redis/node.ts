import { TestServerError } from "../errors.js";
import { appendedBytes, cutAppended } from "./append-only-file.js";
import { RedisProcess } from "./redis-process.js";

/** The types of connections that CLIENT KILL knows. */
export type RedisClientType = "normal" | "pubsub" | "replica" | "master";

/** The answer to ROLE. */
export interface RedisRole {
  /** Its present role. */
  role: "master" | "replica";
  /** The port of the master that a replica follows. */
  masterPort?: number;
  /** The state of the link to that master: `connected` once the replica follows it. */
  link?: string;
  /** How many replicas follow this master and have everything that it had when they connected. */
  replicas?: number;
  /** How far the replication stream has got. */
  offset: number;
}

/** What data a restarted server still has. */
export interface RestartOptions {
  /**
   * The data after the restart:
   * - `persisted` (default): what a crash leaves, by `appendOnly` and `save`; nothing without them.
   * - `all`: everything; it is saved first.
   * - `none`: nothing, files included.
   */
  data?: "persisted" | "all" | "none";
}

/** One real redis-server: a child process on 127.0.0.1 that dies with this process, whatever kills it. */
export class RedisNode extends RedisProcess {
  /** `redis://127.0.0.1:20278`, or `rediss:` with TLS; without user and password. */
  get url(): string {
    return `${this.tls === undefined ? "redis" : "rediss"}://${this.address}`;
  }

  /** Kills it if it runs and starts it again on the same port; resolves when it serves. */
  async restart(options: RestartOptions = {}): Promise<void> {
    if (options.data === "all" && this.running) await this.command("SAVE");
    await this.startAgain(options.data === "none");
  }

  /** The length of its append-only file, as the operating system has it. */
  appendedBytes(): number {
    return appendedBytes(this.dataDir);
  }

  /**
   * Cuts the append-only file of a killed server back to an earlier length, as a power failure does when the disk had
   * no more of it. Killing the process alone loses nothing that it has written.
   */
  cutAppended(bytes: number): void {
    if (this.running) throw new TestServerError(`${this.describe()} is running`);
    cutAppended(this.dataDir, bytes);
  }

  /** CLIENT PAUSE: for `forMs` milliseconds the server answers no commands, or no writes. */
  async clientPause(forMs: number, mode: "ALL" | "WRITE" = "ALL"): Promise<void> {
    await this.command("CLIENT", "PAUSE", forMs, mode);
  }

  /** Ends `clientPause` early. */
  async clientUnpause(): Promise<void> {
    await this.command("CLIENT", "UNPAUSE");
  }

  /** Forgets all scripts: EVALSHA answers NOSCRIPT. */
  async flushScripts(): Promise<void> {
    await this.command("SCRIPT", "FLUSH", "SYNC");
  }

  /** Closes all connections of a type, and returns how many. */
  async killClients(type: RedisClientType): Promise<number> {
    return Number(await this.command("CLIENT", "KILL", "TYPE", type, "SKIPME", "YES"));
  }

  /** Asks the server by ROLE. `timeoutMs`: limit in milliseconds, default 2,000. */
  async role(options: { timeoutMs?: number } = {}): Promise<RedisRole> {
    using connection = await this.connect(options);
    const told = await connection.command("ROLE");
    if (!Array.isArray(told)) throw new TestServerError(`${this.describe()} answered ROLE with ${told}`);
    if (told[0] === "master") {
      return { role: "master", offset: Number(told[1]), replicas: [told[2]].flat().length };
    }
    return {
      role: "replica",
      masterPort: Number(told[2]),
      link: String(told[3]),
      offset: Number(told[4]),
    };
  }
}
