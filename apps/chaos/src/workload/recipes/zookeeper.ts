import { zookeeperLocks } from "@holdfast/zk-recipes";
import type { Recipe } from "../recipe.js";
import { providerClient } from "./provider-client.js";

/**
 * Ours on ZooKeeper. Option `leaseProof`: "sync" (default) or "quorum". With `identity`, so that the observer knows whose
 * node stands where.
 */
export const zookeeper: Recipe = {
  async open(context) {
    const { servers, leaseMs, options } = context;
    if (servers.kind !== "zookeeper") throw new Error(`recipe zookeeper cannot work on ${servers.kind}`);
    const locks = zookeeperLocks({
      connect: servers.connect,
      sessionTimeoutMs: leaseMs,
      identity: true,
      ...(options.leaseProof === "quorum" ? { leaseProof: "quorum" } : {}),
    });
    await locks.ready({ waitMs: 30_000 });
    return providerClient(locks, context);
  },
};
