import { startRedis, startRedisProxy } from "@holdfast/test-servers";
import type { Topology } from "../scenario.js";
import { proxiedLink, unproxiedLink } from "./links.js";
import { Placement, rememberPlacement } from "./placement.js";
import { RedisObserver } from "./redis-look.js";
import { logOf, persistenceOptions, redisServer, redisVersions, revive } from "./redis-server.js";
import { rememberRedis } from "./redis-sets.js";
import type { ServerSet } from "./server-set.js";

/** Enough for the log of all writes of a scenario, and for a rewrite of it. */
const diskBytes = 3 * 1_024 * 1_024;

/** Starts one Redis server. */
export async function startRedisSet(topology: Topology): Promise<ServerSet> {
  if (topology.kind !== "redis") throw new TypeError(`not one Redis: ${topology.kind}`);
  const { shims, smallDisk } = topology;
  const wishes = { shims, diskBytes: smallDisk === true ? diskBytes : undefined };
  const placement = await Placement.open(wishes, 1);
  const [place] = placement.places ?? [];
  const [disk] = placement.disks;
  const node = await startRedis({
    ...persistenceOptions(topology.persistence),
    ...(place && { place }),
    ...(disk && { config: { dir: disk.path } }),
  }).catch(async (error: unknown) => {
    await placement.close();
    throw error;
  });
  const { host, port } = node;
  const server = redisServer(node, "redis1");
  const addresses = { kind: "redis", address: { host, port } } as const;
  const set: ServerSet = {
    topology,
    versions: await redisVersions(node),
    addresses,
    servers: [server],
    async link(worker, proxied) {
      if (!proxied) return unproxiedLink(addresses);
      const proxy = await startRedisProxy({ target: { host, port }, name: `${worker} to ${server.name}` });
      return proxiedLink({ kind: "redis", address: { host, port: proxy.port } }, [proxy]);
    },
    observer: async () => new RedisObserver(async () => [node]),
    async heal() {
      await placement.heal();
      await revive(node);
      await node.clientUnpause();
    },
    logs: () => [logOf(node, server.name)],
    async close() {
      await node.stop();
      await placement.close();
    },
  };
  rememberPlacement(set, placement);
  rememberRedis(set, { nodes: [node] });
  return set;
}
