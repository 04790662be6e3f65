import { addressText } from "@holdfast/core/internal";
import { redisLocks } from "@holdfast/redis-recipes";
import { startProxy } from "@holdfast/test-servers";
import type { Redis } from "ioredis";
import { proxiedLink } from "../engine/topologies/links.js";
import type { ServerSet } from "../engine/topologies/server-set.js";
import type { Address, AttackedServers } from "../workload/addresses.js";
import { redisOptions } from "../workload/attacked.js";
import { namesKey } from "../workload/redis-names.js";
import { addressesOf, onMasters, reachWithinMs, targetOf } from "./redis-nodes.js";

/** How many names one SCAN call looks at. */
export const pageOf = 500;

type Attacked = Extract<AttackedServers, { readonly backend: "redis" }>;

/**
 * Opens the Redis of a user: one server, the master that sentinels name, or a cluster. All keys of the attack contain
 * `name`, which no other program uses. `close` deletes the keys that are left: the last tokens of its locks, which
 * would expire by themselves within an hour. When `signal` aborts while the servers are looked for, the promise rejects.
 * @throws BackendError that says what is wrong, if our clients cannot work with it
 */
export async function openForeignRedis(
  servers: Attacked,
  name: string,
  signal: AbortSignal,
): Promise<ServerSet> {
  const locks = redisLocks(redisOptions(servers));
  try {
    await locks.ready({ waitMs: reachWithinMs, signal });
  } finally {
    await locks.close();
  }
  const target = targetOf(servers);
  const known = await addressesOf(target);
  return {
    topology: { kind: "redis" },
    versions: {},
    addresses: servers,
    // No server here may be hit by a fault.
    servers: [],
    async link(worker) {
      const proxies = await Promise.all(
        known.map((address) => startProxy({ target: address, name: `${worker} to ${addressText(address)}` })),
      );
      const ways = new Map(known.map((address, at) => [addressText(address), proxies[at] as Address]));
      return proxiedLink(through(ways, servers), proxies);
    },
    observer: async () => ({
      // Waiters are not observed: the locks here are not fair.
      look: async () => ({ holders: [], queue: [] }),
      left: ({ name: lock }) => onMasters(target, (master) => leftOf(master, lock)),
      close: async () => {},
    }),
    heal: async () => {},
    logs: () => [],
    async close() {
      try {
        await onMasters(target, async (master) => {
          for (const key of await keysWith(master, name)) await master.del(key);
          return [];
        });
      } catch (cause) {
        const why = (cause as Error).message;
        throw new Error(
          `keys with ${name} in their names are left, and go by themselves within an hour: ${why}`,
        );
      }
    },
  };
}

/** The same servers, reached through proxies. */
export function through(ways: ReadonlyMap<string, Address>, servers: Attacked): Attacked {
  const by = (address: Address): Address => {
    const { host, port } = ways.get(addressText(address)) ?? address;
    return { host, port };
  };
  const { url, sentinels, cluster } = servers.options;
  const natMap = Object.fromEntries([...ways].map(([told, { host, port }]) => [told, { host, port }]));
  if (sentinels !== undefined) {
    const near = { ...sentinels, sentinels: sentinels.sentinels.map(by), natMap };
    return { ...servers, options: { ...servers.options, sentinels: near } };
  }
  if (cluster !== undefined) {
    return { ...servers, options: { ...servers.options, cluster: { nodes: cluster.nodes.map(by), natMap } } };
  }
  const near = new URL(url as string);
  const [{ host, port }] = [...ways.values()] as [Address];
  near.hostname = host;
  near.port = String(port);
  return { ...servers, options: { ...servers.options, url: near.href } };
}

/** The keys that should not be left: the lock itself, and every key without an expiry. */
async function leftOf(master: Redis, name: string): Promise<string[]> {
  const left: string[] = [];
  for (const key of await keysWith(master, name)) {
    if (key === namesKey(name)) continue;
    const ttlMs = await master.pttl(key);
    // -2: the key expired between the two commands.
    if (ttlMs === -1 || (key === name && ttlMs !== -2)) left.push(`${key} (${ttlMs} ms to live)`);
  }
  return left;
}

/** Scans page by page, so that a server with many keys does its other work in between. */
async function keysWith(master: Redis, name: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor = "0";
  do {
    const [next, keys] = await master.scan(cursor, "MATCH", `*${name}*`, "COUNT", pageOf);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...found];
}
