import { freePort, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { curatorVersions, type JavaPeer, startJavaPeer } from "../../support/curator/java-peer.js";
import { Browser } from "./browser.js";
import { Dashboard } from "./dashboard.js";

/**
 * Two real servers. On each, Curator holds a lock for which two clients of ours wait. One of these two has no name and also holds
 * a second lock. One server reports its sessions by its AdminServer only, the other by four-letter words only.
 */
export interface SessionsWorld extends AsyncDisposable {
  readonly admin: ZooKeeperNode;
  readonly words: ZooKeeperNode;
  /** It has the clusters `admin` and `words`, and `neither`: the first server again, with a wrong port for its AdminServer. */
  readonly dashboard: Dashboard;
  readonly wrongPort: number;
  readonly browser: Browser;
  /** The locks are below it: `orders`, which all clients want, and `own`. */
  readonly root: string;
}

const root = "/sessions";

export async function startSessionsWorld(): Promise<SessionsWorld> {
  const curator = (await curatorVersions()).at(-1);
  if (curator === undefined) throw new Error("this machine has no Curator");
  const [admin, words, peer, browser, wrongPort] = await Promise.all([
    startZooKeeper({ adminServer: true, fourLetterWords: [] }),
    startZooKeeper(),
    startJavaPeer({ curator }),
    Browser.open(),
    freePort(),
  ]);
  const cluster = (name: string, { connectString }: ZooKeeperNode, adminPort: number) => ({
    name,
    zookeeper: { connect: connectString, roots: [root], adminPort },
  });
  const dashboard = await Dashboard.start({
    clusters: [
      cluster("admin", admin, admin.adminPort ?? 0),
      cluster("words", words, 0),
      cluster("neither", admin, wrongPort),
    ],
  });
  const over = new AbortController();
  const clients: ZooKeeperLocks[] = [];
  const waits: Promise<unknown>[] = [];
  await Promise.all([contend(admin, "admin", peer), contend(words, "words", peer)]);
  await dashboard.row(`${root}/orders`, ({ waiterCount }) => waiterCount === 2, "neither");
  return {
    admin,
    words,
    dashboard,
    wrongPort,
    browser,
    root,
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.all(waits);
      await Promise.all(clients.map((each) => each.close({ releaseTimeoutMs: 500 })));
      await browser[Symbol.asyncDispose]();
      await dashboard[Symbol.asyncDispose]();
      await peer.close();
      await Promise.all([admin.stop(), words.stop()]);
    },
  };

  async function contend(server: ZooKeeperNode, name: string, java: JavaPeer): Promise<void> {
    const connect = server.connectString;
    const holder = await java.connect({ connect, sessionTimeoutMs: 7_000 });
    await (await holder.mutex(`${root}/orders`)).acquire();
    for (const [at, sessionTimeoutMs] of [8_000, 9_000].entries()) {
      const locks = zookeeperLocks({ connect, identity: at === 0, sessionTimeoutMs });
      clients.push(locks);
      if (at === 1) await locks.mutex(`${root}/own`).acquire();
      waits.push(
        locks
          .mutex(`${root}/orders`)
          .acquire({ signal: over.signal })
          .catch(() => {}),
      );
      await dashboard.row(`${root}/orders`, ({ waiterCount }) => waiterCount === at + 1, name);
    }
  }
}
