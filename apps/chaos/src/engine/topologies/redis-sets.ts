import type { RedisNode, RedisReplicaSet, TcpProxy } from "@holdfast/test-servers";
import type { ServerSet } from "./server-set.js";

/** What faults that only Redis has need to know about a set of servers. */
export interface RedisServers {
  /** The nodes, in the order of their addresses. */
  readonly nodes: readonly RedisNode[];
  readonly replicaSet?: RedisReplicaSet;
  /** For replicas without Sentinels: the address that clients know. */
  readonly front?: TcpProxy;
}

const known = new WeakMap<ServerSet, RedisServers>();

export function rememberRedis(set: ServerSet, servers: RedisServers): void {
  known.set(set, servers);
}

/** Throws for a topology of another kind. */
export function redisOf(set: ServerSet): RedisServers {
  const servers = known.get(set);
  if (servers === undefined) throw new Error(`${set.topology.kind} has no Redis servers`);
  return servers;
}

/** Throws for a topology without replicas. */
export function replicaSetOf(set: ServerSet): RedisReplicaSet {
  const { replicaSet } = redisOf(set);
  if (replicaSet === undefined) throw new Error(`${set.topology.kind} has no replicas`);
  return replicaSet;
}
