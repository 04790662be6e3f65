import { type RedisReplicaSet, startRedisProxy, startRedisReplicaSet } from "@holdfast/test-servers";
import type { Address, ServerAddresses } from "../../workload/addresses.js";
import type { Topology } from "../scenario.js";
import { proxiedLink, unproxiedLink } from "./links.js";
import { Placement, rememberPlacement } from "./placement.js";
import { startPlainReplicas } from "./plain-replicas.js";
import { RedisObserver } from "./redis-look.js";
import { logOf, redisServer, redisVersions, revive, sentinelServer } from "./redis-server.js";
import { rememberRedis } from "./redis-sets.js";
import type { ServerSet } from "./server-set.js";

/**
 * Sentinel's own periods, in milliseconds. With them an old master that is back stays a second master for ten seconds.
 */
const ordinary = { "info-period": 10_000, "publish-period": 2_000 };
/** Short periods, so that a set is whole again soon after a scenario. */
const hurried = { "info-period": 500, "publish-period": 200 };
const healMs = 30_000;

/** Starts a master and its replicas, with or without Sentinels. */
export async function startReplicated(topology: Topology): Promise<ServerSet> {
  if (topology.kind !== "replicated") throw new TypeError(`no replicas: ${topology.kind}`);
  if (topology.sentinels === 0) return await startPlainReplicas(topology);
  const { replicas, sentinels } = topology;
  const periods = topology.hurried === true ? hurried : ordinary;
  const placement = await Placement.open({ namespaces: topology.namespaces }, replicas + 1);
  const { places } = placement;
  const replicaSet = await startRedisReplicaSet({
    replicas,
    sentinels,
    // The network itself cuts servers that have addresses of their own from each other.
    ...(places === undefined ? { replicationProxies: true } : { places }),
    sentinelPeriods: periods,
  }).catch(async (error: unknown) => {
    await placement.close();
    throw error;
  });
  const { nodes, sentinels: watchers } = replicaSet;
  const servers = [
    ...nodes.map((node, at) => redisServer(node, `redis${at + 1}`)),
    ...watchers.map((watcher, at) => sentinelServer(watcher, `sentinel${at + 1}`)),
  ];
  const [first] = nodes;
  if (first === undefined) throw new Error("a replica set without servers");

  /**
   * Clients connect straight to the servers. Only replication and Sentinels go through the replication proxies, which
   * can delay and cut them.
   */
  const addressesBy = (ways: ReadonlyMap<number, number>): ServerAddresses => {
    const way = ({ host, port }: Address): Address => {
      const proxy = ways.get(port);
      return proxy === undefined ? { host, port } : { host: "127.0.0.1", port: proxy };
    };
    return {
      kind: "replicated",
      sentinels: watchers.map(way),
      masterName: replicaSet.name,
      replicas,
      master: way(first),
      natMap: {
        ...Object.fromEntries(
          nodes.map((node) => [`${node.host}:${replicaSet.announcedPort(node)}`, way(node)]),
        ),
        ...Object.fromEntries(watchers.map((watcher) => [watcher.address, way(watcher)])),
      },
    };
  };
  const addresses = addressesBy(new Map());
  const set: ServerSet = {
    topology,
    versions: await redisVersions(first),
    addresses,
    servers,
    async link(worker, proxied) {
      if (!proxied) return unproxiedLink(addresses);
      const proxies = await Promise.all(
        [...nodes, ...watchers].map(({ host, port }, at) =>
          startRedisProxy({ target: { host, port }, name: `${worker} to ${servers[at]?.name}` }),
        ),
      );
      const ways = new Map(proxies.map((proxy) => [proxy.target.port, proxy.port]));
      return proxiedLink(addressesBy(ways), proxies);
    },
    observer: async () => new RedisObserver(async () => [await replicaSet.master()]),
    async heal() {
      await placement.heal();
      await makeWhole(replicaSet, periods, places === undefined);
    },
    logs: () => [...nodes, ...watchers].map((server, at) => logOf(server, servers[at]?.name ?? "redis")),
    async close() {
      await replicaSet.stop();
      await placement.close();
    },
  };
  rememberRedis(set, { nodes, replicaSet });
  // Each Sentinel is in the place of the data server with the same number.
  const numbers = [...nodes.keys(), ...watchers.keys()];
  rememberPlacement(set, placement, new Map(servers.map(({ name }, at) => [name, numbers[at] ?? 0])));
  return set;
}

async function makeWhole(set: RedisReplicaSet, periods: typeof ordinary, gated: boolean): Promise<void> {
  await Promise.all([...set.nodes, ...set.sentinels].map(revive));
  for (const node of set.nodes) {
    if (gated) {
      set.healReplication(node);
      await set.rejoin(node);
    }
    await node.clientUnpause();
  }
  await setPeriods(set, hurried);
  try {
    await set.ready(healMs);
  } finally {
    await setPeriods(set, periods);
  }
}

async function setPeriods(set: RedisReplicaSet, periods: typeof ordinary): Promise<void> {
  const words = Object.entries(periods).flat();
  await Promise.all(set.sentinels.map((sentinel) => sentinel.command("SENTINEL", "DEBUG", ...words)));
}
