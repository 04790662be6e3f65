import type { DashboardConfig } from "@holdfast/dashboard";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import {
  type EmbeddedZooKeeper,
  type RedisNode,
  startEmbeddedZooKeeper,
  startRedis,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { Browser } from "./browser.js";
import { Dashboard } from "./dashboard.js";

/** A ZooKeeper and a Redis with clients of ours, a dashboard that watches both, and a browser for its page. */
export interface LiveWorld extends AsyncDisposable {
  readonly zookeeper: EmbeddedZooKeeper;
  readonly redis: RedisNode;
  readonly dashboard: Dashboard;
  readonly browser: Browser;
  /** Makes a client that publishes its identity unless the options say otherwise. It is closed with the world. */
  zookeeperClient(options?: Pick<ZooKeeperLocksOptions, "identity">): Promise<ZooKeeperLocks>;
  redisClient(options?: Pick<RedisLocksOptions, "identity">): Promise<RedisLocks>;
}

/** `thresholds` says from which age on the dashboard calls a hold long; default: the dashboard's own. */
export async function startLiveWorld(thresholds?: DashboardConfig["thresholds"]): Promise<LiveWorld> {
  const [zookeeper, redis, browser] = await Promise.all([
    startEmbeddedZooKeeper({ tickTimeMs: 500, words: "all" }),
    startRedis(),
    Browser.open(),
  ]);
  console.log(`embedded server with HOLDFAST_SEED=${zookeeper.seed}`);
  const dashboard = await Dashboard.start({
    ...(thresholds !== undefined && { thresholds }),
    clusters: [
      {
        name: "zoo",
        zookeeper: { connect: zookeeper.connectString, roots: ["/live"], adminPort: 0, schedules: {} },
      },
      { name: "red", redis: { url: redis.url, patterns: ["live:*", "holdfast_election:{live:*"] } },
    ],
  });
  const clients: { close(options: { releaseTimeoutMs: number }): Promise<unknown> }[] = [];
  return {
    zookeeper,
    redis,
    dashboard,
    browser,
    async zookeeperClient(options = {}) {
      const locks = zookeeperLocks({
        connect: zookeeper.connectString,
        sessionTimeoutMs: 10_000,
        identity: true,
        ...options,
      });
      clients.push(locks);
      await locks.ready();
      return locks;
    },
    async redisClient(options = {}) {
      const locks = redisLocks({
        url: redis.url,
        heartbeatMs: 200,
        // Longer than a busy machine stands still: a waiter that counts as dead comes back at the tail of the queue.
        aliveMs: 10_000,
        identity: true,
        ...options,
      });
      clients.push(locks);
      await locks.ready();
      return locks;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((each) => each.close({ releaseTimeoutMs: 500 })));
      await browser[Symbol.asyncDispose]();
      await dashboard[Symbol.asyncDispose]();
      await Promise.all([zookeeper.stop(), redis.stop()]);
    },
  };
}
