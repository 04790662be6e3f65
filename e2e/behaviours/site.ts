import { randomUUID } from "node:crypto";
import {
  eventually,
  expireSession,
  type ProxiedSession,
  startEmbeddedZooKeeper,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { onTestFinished } from "vitest";
import { Operator } from "../zookeeper/features/operator.js";

/** What the real server and the embedded one have in common. */
interface Server {
  readonly connectString: string;
  /** Stops and starts the server at the same address; its sessions survive. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

// The server removes empty containers at once. That is harder for the clients than the default of a minute.
const options = { tickTimeMs: 500, maxSessionTimeoutMs: 40_000, containerCheckIntervalMs: 100 };

/** A provider with its own link, so that a test can cut off this provider alone. */
export class Client {
  readonly locks: ZooKeeperLocks;
  readonly link: ZooKeeperProxy;

  constructor(locks: ZooKeeperLocks, link: ZooKeeperProxy) {
    this.locks = locks;
    this.link = link;
  }

  /** The session that was opened last, with its latest connection. A lost session may connect once more, only to be closed. */
  get session(): ProxiedSession {
    const byId = new Map(this.link.sessions.map((each) => [each.sessionId, each]));
    const session = [...byId.values()].at(-1);
    if (session === undefined) throw new Error("the client has no session yet");
    return session;
  }
}

/** One server for a list of behaviours. Clients and operators end with their test. */
export class Site {
  readonly #start: () => Promise<Server>;
  #server: Server | undefined;

  constructor(start: () => Promise<Server>) {
    this.#start = start;
  }

  static embedded(): Site {
    return new Site(() => startEmbeddedZooKeeper(options));
  }

  static real(): Site {
    return new Site(() => startZooKeeper(options));
  }

  async start(): Promise<void> {
    this.#server = await this.#start();
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  get server(): Server {
    if (this.#server === undefined) throw new Error("the server was not started");
    return this.#server;
  }

  /** A path that no other test uses, with two levels above it. */
  path(): string {
    return `/behaviours-${randomUUID().slice(0, 8)}/of/lock`;
  }

  /** Like `path()`, but all levels exist and stay. For tests that count every request or lose an answer. */
  async madePath(operator: Operator): Promise<string> {
    const path = this.path();
    for (const level of levelsOf(path)) await operator.create(level);
    return path;
  }

  async client(options: ZooKeeperLocksOptions = {}): Promise<Client> {
    const link = await startZooKeeperProxy({ target: this.server.connectString });
    const locks = zookeeperLocks({ connect: link.connectString, sessionTimeoutMs: 4_000, ...options });
    onTestFinished(async () => {
      await locks.close({ releaseTimeoutMs: 500 });
      await link.close();
    });
    await locks.ready();
    return new Client(locks, link);
  }

  /** `user` is `name:password` of the scheme digest. */
  operator(user?: string): Promise<Operator> {
    return Operator.connect(this.server.connectString, user);
  }

  /** Ends the client's session at the server, as an expiry would. */
  async expire({ session }: Client): Promise<void> {
    const { sessionId, password } = session;
    await expireSession({ connectString: this.server.connectString, sessionId, password });
  }
}

export async function childCount(operator: Operator, path: string, count: number): Promise<string[]> {
  let children: string[] = [];
  await eventually(
    async () => {
      children = await operator.children(path);
      return children.length === count;
    },
    { what: `${count} nodes below ${path}`, everyMs: 5, detail: () => `there are: ${children.join(", ")}` },
  );
  return children;
}

/** The path and all paths above it, the top one first. */
export function levelsOf(path: string): string[] {
  const names = path.split("/").slice(1);
  return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
}
