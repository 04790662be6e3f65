import { type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import type { ServerAddresses } from "../addresses.js";
import { zooKeeperOptions } from "../attacked.js";
import type { Recipe } from "../recipe.js";
import { electionOf, keeping, providerClient } from "./provider-client.js";

/**
 * Our client on ZooKeeper. Options:
 * - `leaseProof`: "sync" (default) or "quorum".
 * - `lock: "election"`: a term of office is used as the hold of a mutex.
 * - `leaseMs`: replaces the lease of the keys.
 * - `keepMs`: see `keeping`.
 *
 * It uses `identity`, so that the observer knows which worker's node stands where. It does not if locks are kept: each
 * owner has a label of its own, and is lent no lock that shows the label of another.
 */
export const zookeeper: Recipe = {
  async open(context) {
    const { servers, leaseMs, options } = context;
    const keeps = options.keepMs !== undefined;
    const locks = zookeeperLocks({
      ...targetOf(servers),
      sessionTimeoutMs: Number(options.leaseMs ?? leaseMs),
      ...(keeps ? { ...keeping(options), fenceBy: "token-and-turn" } : { identity: true }),
      ...(options.leaseProof === "quorum" ? { leaseProof: "quorum" } : {}),
    });
    await locks.ready({ waitMs: 30_000 });
    const elects = options.lock === "election";
    return providerClient(locks, context, {
      turns: keeps,
      ...(elects && { mutex: (name: string) => electionOf(locks, name) }),
    });
  },
};

function targetOf(servers: ServerAddresses): Pick<ZooKeeperLocksOptions, "connect" | "auth" | "tls"> {
  if (servers.kind === "attacked" && servers.backend === "zookeeper") return zooKeeperOptions(servers);
  if (servers.kind === "zookeeper") return { connect: servers.connect };
  throw new Error(`recipe zookeeper cannot work on ${servers.kind}`);
}
