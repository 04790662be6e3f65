import { RedisConnection, startRedisProxy } from "@holdfast/test-servers";
import { proxiedLink } from "../engine/topologies/redis-link.js";
import type { Address, Observer, ServerSet } from "../engine/topologies/server-set.js";
import { namesKey } from "../workload/redis-names.js";

const page = 500;

/**
 * Somebody's Redis. All keys of the attack carry a name that nobody else has; `close` deletes those that are left: the last tokens
 * of its locks, which would go by themselves in a week.
 */
export async function openForeignRedis(address: Address, name: string): Promise<ServerSet> {
  const connection = await RedisConnection.connect({ ...address, timeoutMs: 15_000 });
  await connection.command("PING");
  const addresses = { kind: "redis", address } as const;
  return {
    topology: { kind: "redis" },
    versions: {},
    addresses,
    // None that could be hit.
    servers: [],
    link: async (worker) => {
      const proxy = await startRedisProxy({ target: address, name: worker });
      return proxiedLink({ kind: "redis", address: { host: "127.0.0.1", port: proxy.port } }, [proxy]);
    },
    observer: async () => observerOf(connection),
    heal: async () => {},
    logs: () => [],
    close: async () => {
      for (const key of await keysWith(connection, name)) await connection.command("DEL", key);
      connection.close();
    },
  };
}

function observerOf(connection: RedisConnection): Observer {
  return {
    look: async () => ({ holders: [], queue: [] }),
    left: async ({ name }) => {
      const left: string[] = [];
      for (const key of await keysWith(connection, name)) {
        if (key === namesKey(name)) continue;
        const ttlMs = Number(await connection.command("PTTL", key));
        // -2: it went while it was looked at.
        if (ttlMs === -1 || (key === name && ttlMs !== -2)) left.push(`${key} (${ttlMs} ms to live)`);
      }
      return left;
    },
    close: async () => {},
  };
}

/** A page at a time: a server with many keys goes on with its work between two. */
async function keysWith(connection: RedisConnection, name: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor = "0";
  do {
    const [next, keys] = (await connection.command("SCAN", cursor, "MATCH", `*${name}*`, "COUNT", page)) as [
      string,
      string[],
    ];
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...found];
}
