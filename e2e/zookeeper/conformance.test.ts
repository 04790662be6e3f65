import type { LockProvider } from "@holdfast/core";
import { type Fixture, mutexConformance, reentrantMutexConformance } from "@holdfast/core/testing";
import {
  expireSession,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { encodeSegment } from "@holdfast/zk-recipes/internal";
import { afterAll, beforeAll } from "vitest";
import { type JavaPeer, startJavaPeer } from "../support/java-peer.js";

/** Short, since several cases wait for the end of a session. */
const sessionTimeoutMs = 2_500;

let server: ZooKeeperNode;
let java: JavaPeer;

beforeAll(async () => {
  server = await startZooKeeper({ maxClientCnxns: 0 });
  java = await startJavaPeer({ curator: "5.4.0" });
}, 120_000);
afterAll(async () => {
  await java?.close();
  await server?.stop();
});

/** Each provider has a link of its own, to be cut, and a session whose id and password the link has seen. */
async function zookeeperFixture(): Promise<Fixture> {
  const links = new Map<LockProvider, ZooKeeperProxy>();
  const curator = await java.connect({ connect: server.connectString });
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
    foreign: {
      async acquire(name) {
        const mutex = await curator.mutex(`/holdfast/${encodeSegment(name)}`);
        if ((await mutex.acquire({ waitMs: 20_000 })) === null) throw new Error(`Curator never got ${name}`);
        return { release: () => mutex.release() };
      },
    },
    async close() {
      await curator.close();
      for (const link of links.values()) await link.close();
    },
  };
}

mutexConformance("ZooKeeper", zookeeperFixture, { foreign: true });
reentrantMutexConformance("ZooKeeper", zookeeperFixture, { foreign: true });
