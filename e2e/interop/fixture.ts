import type { LockProvider } from "@holdfast/core";
import {
  expireSession,
  type StartZooKeeperOptions,
  startZooKeeper,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { type Client, createClient } from "node-zookeeper-client";
import {
  type CuratorClient,
  type CuratorClientOptions,
  type CuratorVersion,
  type JavaPeer,
  startJavaPeer,
} from "../support/curator/java-peer.js";

/** One real server, one JVM with Curator, and all clients of both kinds that a test asks for. */
export class InteropFixture {
  readonly server: ZooKeeperNode;
  readonly java: JavaPeer;
  readonly #curator: CuratorVersion;
  readonly #providers: LockProvider[] = [];
  readonly #rawClients: Client[] = [];
  readonly #jvms: JavaPeer[] = [];

  private constructor(server: ZooKeeperNode, java: JavaPeer, curator: CuratorVersion) {
    this.server = server;
    this.java = java;
    this.#curator = curator;
  }

  static async start(curator: CuratorVersion, options: StartZooKeeperOptions = {}): Promise<InteropFixture> {
    const server = await startZooKeeper(options);
    try {
      return new InteropFixture(server, await startJavaPeer({ curator }), curator);
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /** A Curator client in the shared JVM, or in `jvm`. */
  curator(options: Partial<CuratorClientOptions> = {}, jvm: JavaPeer = this.java): Promise<CuratorClient> {
    return jvm.connect({ connect: this.server.connectString, ...options });
  }

  /** Starts a separate JVM, for tests that kill or stop it. */
  async jvm(): Promise<JavaPeer> {
    const jvm = await startJavaPeer({ curator: this.#curator });
    this.#jvms.push(jvm);
    return jvm;
  }

  /** A connected provider of ours. */
  async ours(options: ZooKeeperLocksOptions = {}): Promise<ZooKeeperLocks> {
    const connect = options.client === undefined ? { connect: this.server.connectString } : {};
    const locks = zookeeperLocks({ ...connect, ...options });
    this.#providers.push(locks);
    await locks.ready();
    return locks;
  }

  /** A provider of ours over a client of the test's own, whose session the test can therefore take over and end. */
  async oursOverClient(
    sessionTimeoutMs: number,
  ): Promise<{ locks: ZooKeeperLocks; session(): { id: bigint; password: Uint8Array } }> {
    const client = createClient(this.server.connectString, { sessionTimeout: sessionTimeoutMs });
    this.#rawClients.push(client);
    client.connect();
    const locks = await this.ours({ client });
    return {
      locks,
      session: () => ({
        id: client.getSessionId().readBigUInt64BE(),
        password: Uint8Array.from(client.getSessionPassword()),
      }),
    };
  }

  /** Ends the session at the server, as if its time were up. */
  async expire(session: { readonly id: bigint; readonly password: Uint8Array }): Promise<void> {
    const { id: sessionId, password } = session;
    await expireSession({ connectString: this.server.connectString, sessionId, password });
  }

  async close(): Promise<void> {
    try {
      await Promise.all(this.#providers.map((locks) => locks.close()));
      for (const client of this.#rawClients) client.close();
      await Promise.all([this.java, ...this.#jvms].map((jvm) => jvm.close()));
    } finally {
      await this.server.stop();
    }
  }
}

/** The promise `grant`, and a flag that says whether it has been fulfilled by now. */
export function watched<T>(grant: Promise<T>): { readonly granted: boolean; readonly grant: Promise<T> } {
  const state = { granted: false, grant };
  grant.then(
    () => {
      state.granted = true;
    },
    () => {}, // the code that awaits `grant` gets the error
  );
  return state;
}

/**
 * Resolves when a waiter of `locks`, whose node exists, has its watches at the server. `inspect()` takes two requests, one
 * after the other, on the same session. The answer to the first one arrives behind the waiter's listing, upon which the
 * waiter sends its watches. So the second request goes out behind these watches.
 */
export async function watchesSet(locks: LockProvider, path: string): Promise<void> {
  await locks.mutex(path).inspect();
}
