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
  /** The 16 bytes with which a client takes the session up again. */
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
  /** Steps into the way of requests, replies, events and handshakes. */
  readonly faults: Faults;
  /** Reads and writes without a connection, as an administrator. */
  readonly operator: Operator;
  /** Where the server has its time from: the option `clock`, or the time of the machine. */
  readonly clock: Clock;
  /** Decides what ZooKeeper leaves open: print it where a test fails. */
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

  /** `127.0.0.1:port`, for clients; with the option `host` that in place of the address. */
  get connectString(): string {
    return `${this.host.includes(":") ? `[${this.host}]` : this.host}:${this.port}`;
  }

  /** Last transaction. */
  get zxid(): bigint {
    return this.#core.state.zxid;
  }

  /** Closes all connections and the port. The process has nothing left of it. */
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
   * Goes down and comes up again at the same port. With `keepState` (default true) every session gets its
   * whole time-out again and keeps its nodes; without, all is gone and zxids start over. `whileDown`
   * runs in between. Rejects if another process has taken the port. A server that is stopped meanwhile stays down.
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

  /** The nodes at and below `path`, by path, without the server's own unless asked for by name. */
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
   * Ends a session now, with its nodes. Its connection gets FIN, and of the events about its own nodes as
   * many as the seed will have; with `silent` it gets nothing, and its socket stays open and deaf. False
   * if there is no such session.
   */
  expireSession(id: bigint, options: { readonly silent?: boolean } = {}): boolean {
    if (this.#core.state.sessions.get(id) === undefined) return false;
    this.#core.expire(id, options.silent === true ? "mute" : "flush");
    return true;
  }

  /** Closes the connection of a session, which lives on. `reset` (default false) sends RST. False if it has none. */
  dropConnection(id: bigint, options: { readonly reset?: boolean } = {}): boolean {
    const connection = this.#core.connectionOf(id);
    connection?.close(options.reset === true ? "reset" : "drop");
    return connection !== undefined;
  }

  /**
   * Stops reading and writing, as a stopped process does. While the `clock` is "running" (default), what ran
   * out is expired first on `resume`; "frozen", as at a change of leader, gives all sessions their whole time-out again.
   */
  pause(options: { readonly clock?: "running" | "frozen" } = {}): void {
    this.#core.pause(options.clock ?? "running");
  }

  /** Goes on after `pause()`; nothing happens if it is not paused. */
  resume(): void {
    this.#core.resume();
  }

  /** The next sequential child of `path` gets the number `n`. */
  setSequence(path: string, n: number): void {
    this.#core.state.setSequence(path, n);
  }

  /** Takes away an empty container or TTL node now, as the cleaner would. False if it is none or not empty. */
  deleteEmptyContainer(path: string): boolean {
    return this.#core.state.deleteMortal(path);
  }

  /** Lets the cleaner look now. Returns how many nodes it took away. */
  clean(): number {
    return this.#core.clean();
  }
}

/** Starts a server that accepts connections when the promise resolves. */
export function startEmbeddedZooKeeper(options: EmbeddedZooKeeperOptions = {}): Promise<EmbeddedZooKeeper> {
  return EmbeddedZooKeeper.start(options);
}
