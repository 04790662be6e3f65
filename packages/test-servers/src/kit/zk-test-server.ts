import { formatSessionId } from "@holdfast/zk-protocol";
import {
  type EmbeddedNode,
  type EmbeddedSession,
  EmbeddedZooKeeper,
  type EmbeddedZooKeeperOptions,
  type Faults,
  type Operator,
  type RestartOptions,
} from "../embedded/index.js";
import { TestServerError } from "../errors.js";
import { followSuite, type SuiteHooks } from "./suite-hooks.js";

/** What `zkTestServer()` takes. */
export interface ZkTestServerOptions extends EmbeddedZooKeeperOptions {
  /** Nodes that exist when the suite starts, with all nodes above them; each is persistent and empty. */
  readonly paths?: readonly string[];
}

/** What `zkTestServer()` takes when it follows a suite. */
export interface SuiteZkTestServerOptions extends ZkTestServerOptions {
  /** The hooks in which the server starts and stops, and faults are healed. */
  readonly hooks: SuiteHooks;
}

/** A ZooKeeper for the tests of a service. It runs inside the test process and ends with it. */
export class ZkTestServer {
  readonly #options: ZkTestServerOptions;
  #server: EmbeddedZooKeeper | undefined;
  #ended = false;

  constructor(options: ZkTestServerOptions = {}) {
    const { paths = [] } = options;
    const crooked = paths.find((path) => !/^(\/[^/]+)+$/.test(path));
    if (crooked !== undefined) throw new RangeError(`paths: ${JSON.stringify(crooked)} is no path`);
    this.#options = options;
  }

  /** Starts the server; `zkTestServer` does it for you. @throws Error of the port if that is taken. */
  async start(): Promise<void> {
    if (this.#server !== undefined) throw new TestServerError("the test server has been started already");
    this.#server = await EmbeddedZooKeeper.start(this.#options);
    this.#ended = false;
    this.#makePaths();
  }

  /** The embedded server, for what has no shortcut here. @throws TestServerError while it is not running. */
  get server(): EmbeddedZooKeeper {
    if (this.#server === undefined) {
      throw new TestServerError(
        this.#ended
          ? "the test server was stopped"
          : "the test server is not started yet: its hooks run after the body of the suite, so ask for connectString inside of a test or of a hook",
      );
    }
    return this.#server;
  }

  /** `127.0.0.1:port`, for clients. */
  get connectString(): string {
    return this.server.connectString;
  }

  /** The port that it listens at. */
  get port(): number {
    return this.server.port;
  }

  /**
   * Injects faults into requests, replies, events and handshakes: `faults.on({ op: "create2" }, { do: "no-reply" })`.
   */
  get faults(): Faults {
    return this.server.faults;
  }

  /** Reads and writes as an administrator, without a session: `operator.delete("/locks/a/x-0000000000")`. */
  get operator(): Operator {
    return this.server.operator;
  }

  /** Sessions that are alive. */
  sessions(): EmbeddedSession[] {
    return this.server.sessions();
  }

  /** The nodes at and below a path; all of them by default. */
  nodes(path = "/"): EmbeddedNode[] {
    return this.server.nodes(path);
  }

  /** The tree as text, one node a line, for messages of failed tests. */
  describe(path = "/"): string {
    return this.server.describe(path);
  }

  /**
   * Ends a session now, as if its time-out were over. Its ephemeral nodes are deleted, clients that watch them get
   * their events, and its own client learns of it when it connects again.
   *
   * @param of its id, or the path of an ephemeral node that it owns; may be left out while there is one session.
   * @throws TestServerError when there is no such session.
   */
  expireSession(of?: bigint | string): void {
    this.server.expireSession(this.#session(of).id);
  }

  /**
   * Closes the connection of a session, as a restart of a switch does. The session lives on.
   *
   * @param of as in `expireSession`.
   * @throws TestServerError when there is no such session, or it has no connection now.
   */
  dropConnection(of?: bigint | string): void {
    const { id } = this.#session(of);
    if (!this.server.dropConnection(id)) {
      throw new TestServerError(`session ${formatSessionId(id)} has no connection`);
    }
  }

  /** Neither reads nor writes until `resume`. Sessions run out meanwhile, unless the clock is "frozen". */
  pause(options: { readonly clock?: "running" | "frozen" } = {}): void {
    this.server.pause(options);
  }

  /** Continues after `pause()`. */
  resume(): void {
    this.server.resume();
  }

  /** The next sequential child of `path` gets the number `n`. */
  setSequence(path: string, n: number): void {
    this.server.setSequence(path, n);
  }

  /** Stops the server and starts it again at the same port, by default with its state. */
  async restart(options: RestartOptions = {}): Promise<void> {
    await this.server.restart(options);
    this.#makePaths();
  }

  /** Ends all faults and a pause, if the server is running. With the hook `afterEach` this happens after every test. */
  heal(): void {
    this.#server?.faults.clear();
    this.#server?.resume();
  }

  /** Heals, and restarts at the same port with nothing but `paths`. All sessions are over: open new clients. */
  async reset(): Promise<void> {
    this.heal();
    await this.restart({ keepState: false });
  }

  /** Closes all connections and the port. A second call does nothing. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#ended = true;
    await server?.stop();
  }

  /** `stop()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #session(of: bigint | string | undefined): EmbeddedSession {
    const sessions = this.sessions();
    const found = sessions.filter(
      ({ id, ephemerals }) =>
        of === undefined || (typeof of === "bigint" ? id === of : ephemerals.includes(of)),
    );
    const [session, ...others] = found;
    if (session !== undefined && others.length === 0) return session;
    const there = sessions.map(
      ({ id, ephemerals }) => `${formatSessionId(id)} with ${ephemerals.join(", ") || "no node"}`,
    );
    throw new TestServerError(
      `${of === undefined ? "not exactly one session" : `no session ${typeof of === "bigint" ? formatSessionId(of) : `that owns ${of}`}`}; there are ${there.length}${there.map((line) => `\n  ${line}`).join("")}`,
    );
  }

  #makePaths(): void {
    for (const path of this.#options.paths ?? []) {
      const steps = path.split("/").slice(1);
      steps.forEach((_, last) => {
        const step = `/${steps.slice(0, last + 1).join("/")}`;
        if (this.operator.exists(step) === null) this.operator.create(step);
      });
    }
  }
}

/**
 * A ZooKeeper for tests, without Java.
 *
 * With `hooks` it is returned at once. It starts before the first test of the suite and stops after the last;
 * `connectString` can be read in tests and in later hooks. Without `hooks`, it is running when the promise resolves,
 * and `await using` ends it.
 */
export function zkTestServer(options: SuiteZkTestServerOptions): ZkTestServer;
/** The form without `hooks`: starts the server at once, and resolves when it runs. */
export function zkTestServer(options?: ZkTestServerOptions): Promise<ZkTestServer>;
export function zkTestServer(
  options: ZkTestServerOptions & { readonly hooks?: SuiteHooks } = {},
): ZkTestServer | Promise<ZkTestServer> {
  const zk = new ZkTestServer(options);
  if (options.hooks === undefined) return zk.start().then(() => zk);
  followSuite(options.hooks, {
    start: () => zk.start(),
    heal: async () => zk.heal(),
    stop: () => zk.stop(),
  });
  return zk;
}
