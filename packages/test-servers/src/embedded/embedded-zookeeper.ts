import { formatSessionId } from "@holdfast/zk-protocol";
import type { Clock } from "./clock.js";
import type { Faults } from "./faults/faults.js";
import { Operator } from "./operator.js";
import type { EmbeddedZooKeeperOptions } from "./options.js";
import { ServerCore } from "./server-core.js";
import type { NodeKind } from "./tree.js";

/** A session of the embedded server, as it is now. */
export interface EmbeddedSession {
  /** The id that the client was given. */
  readonly id: bigint;
  /** The 16 bytes with which a client takes up the session again. */
  readonly password: Uint8Array;
  /** The time-out as granted, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether a connection serves it now. */
  readonly connected: boolean;
  /** Paths of the ephemeral nodes that it owns. */
  readonly ephemerals: readonly string[];
}

/** A node of the embedded server, as it is now. */
export interface EmbeddedNode {
  /** The whole path. */
  readonly path: string;
  /** Whether it is persistent, ephemeral, a container, or of a limited time to live. */
  readonly kind: NodeKind;
  /** Its data, which may be null. */
  readonly data: Uint8Array | null;
  /** 0n unless it is ephemeral. */
  readonly owner: bigint;
  /** The transaction that made it. */
  readonly czxid: bigint;
}

export interface RestartOptions {
  readonly keepState?: boolean;
  whileDown?(): Promise<void> | void;
}

/**
 * A ZooKeeper server inside this process, in memory only: for tests and development, not for anything
 * that must outlive a crash. Any ZooKeeper client can use it by TCP at `connectString`.
 */
export class EmbeddedZooKeeper {
  /** Injects faults into requests, replies, events and handshakes. */
  readonly faults: Faults;
  /** Reads and writes without a connection, as an administrator. */
  readonly operator: Operator;
  /** The source of time of the server: the option `clock`, or the time of the machine. */
  readonly clock: Clock;
  /** The seed of every choice that ZooKeeper leaves open. Print it when a test fails. */
  readonly seed: number;
  readonly #core: ServerCore;
  #stopped = false;

  private constructor(core: ServerCore) {
    this.#core = core;
    this.faults = core.faults;
    this.clock = core.clock;
    this.seed = core.random.seed;
    this.operator = new Operator(() => core.state);
  }

  /** Does what `startEmbeddedZooKeeper` does. */
  static async start(options: EmbeddedZooKeeperOptions = {}): Promise<EmbeddedZooKeeper> {
    const core = new ServerCore(options);
    await core.listen();
    return new EmbeddedZooKeeper(core);
  }

  /** The address that it listens at: the option `host`, or 127.0.0.1. */
  get host(): string {
    return this.#core.host;
  }

  /** The port that it listens at. */
  get port(): number {
    return this.#core.port;
  }

  /** `127.0.0.1:port`, for clients. The option `host` replaces the address. */
  get connectString(): string {
    return `${this.host.includes(":") ? `[${this.host}]` : this.host}:${this.port}`;
  }

  /** The zxid of the last transaction. */
  get zxid(): bigint {
    return this.#core.state.zxid;
  }

  /** Closes all connections and the port. Nothing of the server remains in the process. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.#core.hangUp();
  }

  /** `stop()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Stops the server and starts it again at the same port. With `keepState` (default true) every session keeps its
   * nodes and gets its whole time-out again. Without it, all state is gone and zxids start over. `whileDown` runs in
   * between. Rejects if another process has taken the port. If `stop()` is called meanwhile, the server stays down.
   */
  async restart(options: RestartOptions = {}): Promise<void> {
    await this.#core.hangUp();
    await options.whileDown?.();
    this.#core.reload(options.keepState ?? true);
    await this.#core.listen();
    if (this.#stopped) await this.#core.hangUp();
  }

  /** Sessions that are alive. */
  sessions(): EmbeddedSession[] {
    return [...this.#core.state.sessions.values()].map(({ id, password, timeoutMs }) => ({
      id,
      password,
      timeoutMs,
      connected: this.#core.connectionOf(id) !== undefined,
      ephemerals: [...this.#core.state.tree.ephemeralsOf(id)],
    }));
  }

  /** The nodes at and below `path`, sorted by path. The server's own nodes are left out unless `path` names them. */
  nodes(path = "/"): EmbeddedNode[] {
    const below = path === "/" ? "/" : `${path}/`;
    const wanted = new Set(
      [...this.#core.state.tree.nodes()].filter((node) => {
        const system = node.path === "/zookeeper" || node.path.startsWith("/zookeeper/");
        return (
          (node.path === path || node.path.startsWith(below)) && (!system || path.startsWith("/zookeeper"))
        );
      }),
    );
    return [...wanted]
      .sort((a, b) => (a.path < b.path ? -1 : 1))
      .map(({ path: at, kind, data, owner, czxid }) => ({ path: at, kind, data, owner, czxid }));
  }

  /** The tree as text, one node a line, for messages of failed tests. */
  describe(path = "/"): string {
    return this.nodes(path)
      .map(
        ({ path: at, kind, owner }) => `${at} ${kind}${owner === 0n ? "" : ` of ${formatSessionId(owner)}`}`,
      )
      .join("\n");
  }

  /**
   * Ends a session now and deletes its nodes. Its connection gets some of the events about these nodes (the seed
   * decides how many) and then FIN. With `silent` it gets nothing, and its socket stays open and reads nothing. Returns
   * false if there is no such session.
   */
  expireSession(id: bigint, options: { readonly silent?: boolean } = {}): boolean {
    if (this.#core.state.sessions.get(id) === undefined) return false;
    this.#core.expire(id, options.silent === true ? "mute" : "flush");
    return true;
  }

  /**
   * Closes the connection of a session, which lives on. `reset` (default false) sends RST. Returns false if it has no
   * connection.
   */
  dropConnection(id: bigint, options: { readonly reset?: boolean } = {}): boolean {
    const connection = this.#core.connectionOf(id);
    connection?.close(options.reset === true ? "reset" : "drop");
    return connection !== undefined;
  }

  /**
   * Stops reading and writing, as a stopped process does. With the `clock` "running" (default), `resume` first expires
   * the sessions that ran out meanwhile. With "frozen", all sessions get their whole time-out again, as at a change of
   * leader.
   */
  pause(options: { readonly clock?: "running" | "frozen" } = {}): void {
    this.#core.pause(options.clock ?? "running");
  }

  /** Continues after `pause()`. Does nothing if the server is not paused. */
  resume(): void {
    this.#core.resume();
  }

  /** The next sequential child of `path` gets the number `n`. */
  setSequence(path: string, n: number): void {
    this.#core.state.setSequence(path, n);
  }

  /**
   * Deletes an empty container or TTL node now, as the cleaner would. Returns false if it is no such node or has
   * children.
   */
  deleteEmptyContainer(path: string): boolean {
    return this.#core.state.deleteMortal(path);
  }

  /** Runs the cleaner now. Returns how many nodes it removed. */
  clean(): number {
    return this.#core.clean();
  }
}

/** Starts a server that accepts connections when the promise resolves. */
export function startEmbeddedZooKeeper(options: EmbeddedZooKeeperOptions = {}): Promise<EmbeddedZooKeeper> {
  return EmbeddedZooKeeper.start(options);
}
