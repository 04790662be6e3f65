import { type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import type { Topology } from "../scenario.js";
import { proxiedLink, unproxiedLink } from "./links.js";
import { RedisObserver } from "./redis-look.js";
import { logOf, persistenceOptions, redisServer, redisVersions, revive } from "./redis-server.js";
import { rememberRedis } from "./redis-sets.js";
import type { ServerSet } from "./server-set.js";

/** Starts masters that know nothing of each other. A worker's proxies are in the order of the masters. */
export async function startMasters(topology: Topology): Promise<ServerSet> {
  if (topology.kind !== "masters") throw new TypeError(`not independent masters: ${topology.kind}`);
  const options = persistenceOptions(topology.persistence);
  const started = await Promise.allSettled(Array.from({ length: topology.count }, () => startRedis(options)));
  const nodes = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failed = started.find((each) => each.status === "rejected");
  if (failed !== undefined) {
    await Promise.all(nodes.map((node) => node.stop()));
    throw failed.reason;
  }
  const servers = nodes.map((node, at) => redisServer(node, `redis${at + 1}`));
  const addressOf = ({ host, port }: { host: string; port: number }) => ({ host, port });
  const addresses = { kind: "masters", addresses: nodes.map(addressOf) } as const;
  const set: ServerSet = {
    topology,
    versions: await redisVersions(nodes[0] as RedisNode),
    addresses,
    servers,
    async link(worker, proxied) {
      if (!proxied) return unproxiedLink(addresses);
      const proxies = await Promise.all(
        nodes.map((node, at) =>
          startRedisProxy({ target: addressOf(node), name: `${worker} to ${servers[at]?.name}` }),
        ),
      );
      return proxiedLink({ kind: "masters", addresses: proxies.map(addressOf) }, proxies);
    },
    observer: async () => new RedisObserver(async () => nodes),
    async heal() {
      await Promise.all(nodes.map(revive));
    },
    logs: () => nodes.map((node, at) => logOf(node, servers[at]?.name ?? "redis")),
    async close() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
  rememberRedis(set, { nodes });
  return set;
}
