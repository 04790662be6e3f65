import type { FencingToken, LockProvider, ProviderOptions } from "@holdfast/core";
import type { Settings } from "./settings.js";

/**
 * Opens a provider for these servers, which connects in the background. `leaseMs` is the lease on Redis and the session
 * time-out on ZooKeeper. The client library of the other backend is not loaded.
 */
export async function openLocks(
  settings: Settings,
  { leaseMs, ...options }: ProviderOptions & { readonly leaseMs?: number } = {},
): Promise<LockProvider<FencingToken>> {
  if (settings.backend === "zookeeper") {
    const { zookeeperLocks } = await import("@holdfast/zk-recipes");
    const session = leaseMs === undefined ? {} : { sessionTimeoutMs: leaseMs };
    return zookeeperLocks({ ...settings.zookeeper, ...options, ...session });
  }
  const { redisLocks } = await import("@holdfast/redis-recipes");
  const lease = leaseMs === undefined ? {} : { leaseMs };
  return redisLocks({ ...settings.redis, ...options, ...lease });
}
