import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import {
  type RedisProxy,
  startRedis,
  startRedisCluster,
  startRedisProxy,
  startRedisReplicaSet,
} from "@holdfast/test-servers";

/** Servers, with the links through which all requests to masters pass. */
export interface Place {
  readonly links: readonly RedisProxy[];
  /** `null` outside of a cluster. */
  slotOf(name: string): number | null;
  locks(options: Omit<RedisLocksOptions, "url" | "sentinels" | "cluster" | "client">): RedisLocks;
  stop(): Promise<void>;
}

const traceLimit = 200_000;

export async function oneServer(): Promise<Place> {
  const node = await startRedis();
  const link = await startRedisProxy({ target: { host: node.host, port: node.port }, traceLimit });
  return {
    links: [link],
    slotOf: () => null,
    locks: (options) => redisLocks({ url: `redis://${link.host}:${link.port}`, ...options }),
    async stop() {
      await link.close();
      await node.stop();
    },
  };
}

export async function behindSentinels(): Promise<Place> {
  const set = await startRedisReplicaSet({ replicas: 1, clientProxies: { traceLimit } });
  const sentinels = { sentinels: set.sentinelAddresses, name: set.name };
  return {
    links: [set.proxyOf(await set.master())],
    slotOf: () => null,
    locks: (options) => redisLocks({ sentinels, ...options }),
    stop: () => set.stop(),
  };
}

export async function inCluster(): Promise<Place> {
  const cluster = await startRedisCluster({ clientProxies: { traceLimit } });
  return {
    links: cluster.nodes.map((node) => cluster.proxyOf(node)),
    slotOf: (name) => cluster.slotOf(name),
    locks: (options) => redisLocks({ cluster: { nodes: cluster.addresses }, ...options }),
    stop: () => cluster.stop(),
  };
}
