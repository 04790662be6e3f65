import { type CuratorVersion, type JavaPeer, startJavaPeer } from "../support/curator/java-peer.js";
import { type KazooPeer, startKazooPeer } from "./kazoo-peer.js";
import type { SessionKey } from "./target.js";

/** What kazoo's lock and Curator's mutex have in common. */
export interface ForeignLock {
  acquire(options?: { waitMs?: number }): Promise<{ path: string; czxid: bigint } | null>;
  release(): Promise<unknown>;
}

/** What clients of either kind have in common. */
export interface ForeignClient {
  session(): Promise<SessionKey>;
  lock(path: string): Promise<ForeignLock>;
  /** The length of the queue, the holder included. */
  queued(path: string): Promise<number>;
  /** Oldest first: `CONNECTED`, then `SUSPENDED`, `LOST`, and `CONNECTED` or `RECONNECTED`. */
  readonly states: readonly string[];
}

export interface ForeignClients extends AsyncDisposable {
  readonly what: string;
  connect(options: { connect: string; sessionTimeoutMs: number }): Promise<ForeignClient>;
}

export async function kazooClients(): Promise<ForeignClients> {
  const peer: KazooPeer = await startKazooPeer();
  return {
    what: `kazoo ${peer.version}`,
    async connect(options) {
      const client = await peer.connect(options);
      return {
        session: () => client.session(),
        lock: (path) => client.lock(path),
        queued: async (path) => (await client.node("children", path)).length,
        states: client.states,
      };
    },
    [Symbol.asyncDispose]: () => peer.close(),
  };
}

export async function curatorClients(curator: CuratorVersion): Promise<ForeignClients> {
  const peer: JavaPeer = await startJavaPeer({ curator });
  return {
    what: `Curator ${peer.curatorVersion}`,
    async connect(options) {
      const client = await peer.connect(options);
      return {
        session: () => client.session(),
        lock: (path) => client.mutex(path),
        queued: async (path) => (await (await client.mutex(path)).participants()).length,
        states: client.states,
      };
    },
    [Symbol.asyncDispose]: () => peer.close(),
  };
}
