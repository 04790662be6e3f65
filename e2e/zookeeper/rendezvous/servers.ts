import type { LockProvider } from "@holdfast/core";
import type { Fixture } from "@holdfast/core/testing";
import {
  expireSession,
  startEmbeddedZooKeeper,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";

/** Short, since several cases wait for the end of a session. */
export const sessionTimeoutMs = 2_500;

export interface Server {
  readonly connectString: string;
  stop(): Promise<void>;
}

export interface ServerKind {
  readonly kind: string;
  start(): Promise<Server>;
}

/** Everything here runs against both. */
export const servers: readonly ServerKind[] = [
  { kind: "real", start: () => startZooKeeper({ maxClientCnxns: 0 }) },
  { kind: "embedded", start: () => startEmbeddedZooKeeper({ containerCheckIntervalMs: 100 }) },
];

/** Each provider has a link of its own, to be cut, and a session whose id and password the link has seen. */
export async function linkedFixture(server: Server): Promise<Fixture> {
  const links = new Map<LockProvider, ZooKeeperProxy>();
  return {
    async provider() {
      const link = await startZooKeeperProxy({ target: server.connectString });
      const provider = zookeeperLocks({ connect: link.connectString, sessionTimeoutMs });
      links.set(provider, link);
      return provider;
    },
    async loseHold(handle) {
      const found = [...links].find(([each]) => each.holds().some((held) => held.owner === handle.owner));
      const session = found?.[1].sessions.at(-1);
      if (session === undefined) throw new Error(`nobody here holds ${handle.name}`);
      await expireSession({ connectString: server.connectString, ...session });
    },
    async partition(provider) {
      const link = links.get(provider) as ZooKeeperProxy;
      await link.setMode("reset");
      return {
        [Symbol.dispose]: () => {
          void link.setMode("ok");
        },
      };
    },
    async close() {
      for (const link of links.values()) await link.close();
    },
  };
}
