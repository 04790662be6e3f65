import type { RedisCollectorOptions } from "@holdfast/collectors/redis";
import type { RedisLocksOptions } from "@holdfast/redis-recipes";
import { type RedisNode, startRedis, startRedisCluster, startRedisReplicaSet } from "@holdfast/test-servers";
import type { RedissonServers } from "../../support/redisson/redisson-settings.js";

/** Servers, and how each kind of client finds them. */
export interface Topology {
  readonly ours: Pick<RedisLocksOptions & RedisCollectorOptions, "url" | "sentinels" | "cluster">;
  readonly java: RedissonServers;
  /** How many servers `servers()` is to show, by role. */
  readonly roles: Readonly<Record<string, number>>;
  masterOf(key: string): Promise<RedisNode>;
  stop(): Promise<void>;
}

export const topologies: Readonly<Record<string, () => Promise<Topology>>> = {
  async "one server"() {
    const node = await startRedis();
    return {
      ours: { url: node.url },
      java: { mode: "single", address: node.url },
      roles: { master: 1 },
      masterOf: async () => node,
      stop: () => node.stop(),
    };
  },
  async "a master behind sentinels"() {
    const set = await startRedisReplicaSet();
    const sentinels = set.sentinelAddresses;
    return {
      ours: { sentinels: { sentinels, name: set.name } },
      java: {
        mode: "sentinel",
        masterName: set.name,
        sentinels: sentinels.map(({ host, port }) => `redis://${host}:${port}`),
      },
      roles: { master: 1, replica: 2, sentinel: 3 },
      masterOf: () => set.master(),
      stop: () => set.stop(),
    };
  },
  async "a cluster"() {
    const cluster = await startRedisCluster();
    const nodes = cluster.addresses;
    return {
      ours: { cluster: { nodes } },
      java: { mode: "cluster", nodes: nodes.map(({ host, port }) => `redis://${host}:${port}`) },
      roles: { master: 3, replica: 3 },
      masterOf: (key) => cluster.nodeOfKey(key),
      stop: () => cluster.stop(),
    };
  },
};
