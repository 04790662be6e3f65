import {
  type RedisLocks,
  type RedisLocksOptions,
  type RedisTargetOptions,
  redisLocks,
} from "@holdfast/redis-recipes";
import { clientStateOf } from "@holdfast/redis-recipes/internal";
import type { ServerAddresses } from "../addresses.js";
import { redisOptions } from "../attacked.js";
import type { Client, Recipe, RecipeContext } from "../recipe.js";
import { namesKey } from "../redis-names.js";
import { electionOf, keeping, providerClient } from "./provider-client.js";

/** Short enough for leases of one to three seconds, as a user of such short leases would set them. */
const brisk = { heartbeatMs: 200, aliveMs: 1_000, claimLeaseMs: 1_000, releaseTimeoutMs: 1_000 };

/**
 * Our client on Redis. Options:
 * - `acks`: "none" (default), "all" or a number; `waitTimeoutMs` is for them.
 * - `named`: writes the name of the worker before each acquire, so that the observer knows which worker stands where in
 *   a queue.
 * - `lock`: "spin", "election" or "plain"; the lock to use as the mutex or semaphore.
 * - `leaseMs`: replaces the lease of the keys.
 * - `keepMs`: see `keeping`.
 */
export const redis: Recipe = {
  async open(context) {
    const { servers, leaseMs, options } = context;
    const ownLeaseMs = Number(options.leaseMs ?? leaseMs);
    const locks = redisLocks({
      ...targetOf(servers),
      ...acksOf(servers, options),
      ...brisk,
      ...keeping(options, ownLeaseMs / 3),
      leaseMs: ownLeaseMs,
    });
    await locks.ready({ waitMs: 30_000 });
    const client = providerClient(locks, context, {
      fair: (name) => locks.fairMutex(name),
      ...(options.lock === "spin" && { mutex: (name: string) => locks.spinMutex(name) }),
      ...(options.lock === "election" && { mutex: (name: string) => electionOf(locks, name) }),
      ...(options.lock === "plain" && {
        semaphore: (name: string, limit: number) => locks.plainSemaphore(name, limit),
      }),
    });
    return options.named === true ? named(locks, client) : client;
  },
};

function targetOf(servers: ServerAddresses): RedisTargetOptions {
  if (servers.kind === "attacked" && servers.backend === "redis") return redisOptions(servers);
  if (servers.kind === "redis") return { url: `redis://${servers.address.host}:${servers.address.port}` };
  if (servers.kind !== "replicated") throw new Error(`recipe redis cannot work on ${servers.kind}`);
  const { master, sentinels, masterName: name, natMap } = servers;
  if (sentinels.length === 0) return { url: `redis://${master.host}:${master.port}` };
  return { sentinels: { sentinels, name, ...(natMap !== undefined && { natMap }) } };
}

function acksOf(
  servers: ServerAddresses,
  { acks, waitTimeoutMs }: RecipeContext["options"],
): Pick<RedisLocksOptions, "acks" | "replicas" | "waitTimeoutMs"> {
  if (acks === undefined || acks === "none") return {};
  return {
    acks: acks === "all" ? acks : Number(acks),
    replicas: servers.kind === "replicated" ? servers.replicas : 0,
    ...(waitTimeoutMs !== undefined && { waitTimeoutMs: Number(waitTimeoutMs) }),
  };
}

const sayWho = {
  name: "chaos-name",
  keyCount: 1,
  lua: `redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) return redis.call('PEXPIRE', KEYS[1], 600000)`,
  parse: (raw: unknown) => raw,
};

/** A worker that uses this has at most one acquire under way at each key. */
function named(locks: RedisLocks, client: Client): Client {
  return {
    ...client,
    async acquire(ask) {
      const state = clientStateOf(locks);
      await state?.line.run(sayWho, [namesKey(ask.key.name)], [state.owners.uuid, ask.label]);
      return await client.acquire(ask);
    },
  };
}
