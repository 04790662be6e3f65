import { RedisConnection, startRedisProxy } from "@holdfast/test-servers";
import { proxiedLink } from "../engine/topologies/links.js";
import type { ServerSet } from "../engine/topologies/server-set.js";
import { namesKey } from "../workload/redis-names.js";
import type { AttackTarget } from "./target.js";

const pageOf = 500;
const answerWithinMs = 15_000;

type RedisTarget = Extract<AttackTarget, { kind: "redis" }>;

/**
 * The Redis of a user. All keys of the attack carry `name`, which no other program has; `close` deletes those that are left: the last
 * tokens of its locks, which would go by themselves in an hour.
 */
export async function openForeignRedis(target: RedisTarget, name: string): Promise<ServerSet> {
  const { address, access } = target;
  const credentials = access === undefined ? {} : { access };
  await connected(target, (connection) => connection.command("PING"));
  return {
    topology: { kind: "redis" },
    versions: {},
    addresses: { kind: "redis", address, ...credentials },
    // None that could be hit.
    servers: [],
    link: async (worker) => {
      const proxy = await startRedisProxy({ target: address, name: worker });
      const near = { host: "127.0.0.1", port: proxy.port };
      return proxiedLink({ kind: "redis", address: near, ...credentials }, [proxy]);
    },
    observer: async () => ({
      // It is not asked who waits where: its locks here are not fair.
      look: async () => ({ holders: [], queue: [] }),
      left: ({ name: lock }) => connected(target, (connection) => leftOf(connection, lock)),
      close: async () => {},
    }),
    heal: async () => {},
    logs: () => [],
    close: () =>
      connected(target, async (connection) => {
        for (const key of await keysWith(connection, name)) await connection.command("DEL", key);
      }),
  };
}

async function connected<T>(
  { address, access }: RedisTarget,
  work: (connection: RedisConnection) => Promise<T>,
): Promise<T> {
  const connection = await RedisConnection.connect({ ...address, ...access, timeoutMs: answerWithinMs });
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

/** The lock itself, and what has no end. */
async function leftOf(connection: RedisConnection, name: string): Promise<string[]> {
  const left: string[] = [];
  for (const key of await keysWith(connection, name)) {
    if (key === namesKey(name)) continue;
    const ttlMs = Number(await connection.command("PTTL", key));
    // -2: it went while it was looked at.
    if (ttlMs === -1 || (key === name && ttlMs !== -2)) left.push(`${key} (${ttlMs} ms to live)`);
  }
  return left;
}

/** A page at a time: a server with many keys goes on with its work between two. */
async function keysWith(connection: RedisConnection, name: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor = "0";
  do {
    const page = await connection.command("SCAN", cursor, "MATCH", `*${name}*`, "COUNT", pageOf);
    const [next, keys] = page as [string, string[]];
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...found];
}
