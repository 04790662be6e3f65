import type { LockProvider } from "@holdfast/core";
import {
  derivedMutexConformance,
  type Fixture,
  type LockMaker,
  semaphoreConformance,
} from "@holdfast/core/testing";
import { expireSession, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { onBothServers } from "./servers.js";

/** Short, since several cases wait for the end of a session. */
const sessionTimeoutMs = 2_500;

onBothServers((title, server) => {
  const fixture = async (): Promise<Fixture> => {
    const links = new Map<LockProvider, ZooKeeperProxy>();
    return {
      async provider() {
        const link = await startZooKeeperProxy({ target: server.connectString });
        const provider = zookeeperLocks({ connect: link.connectString, sessionTimeoutMs });
        links.set(provider, link);
        return provider;
      },
      async loseHold(handle) {
        const found = [...links].find(([provider]) =>
          provider.holds().some((held) => held.owner === handle.owner),
        );
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
  };
  semaphoreConformance(title, fixture);
  const lockOf: LockMaker = (provider, name) => (provider as ZooKeeperLocks).semaphoreMutex(name);
  derivedMutexConformance(title, "semaphore mutex", lockOf, fixture);
});
