import { redLocks } from "@holdfast/multi-lock";
import type { Recipe } from "../recipe.js";
import { providerClient } from "./provider-client.js";

/** A node that does not answer for this long counts as silent. The time is generous, for machines that also do other work. */
const nodeTimeoutMs = 400;

/**
 * Our client over independent masters. Options: `restartGuard` (default true), `durable` (default false; true says that
 * no node forgets anything), `fencing: "write-back"`.
 */
export const redlock: Recipe = {
  async open(context) {
    const { servers, leaseMs, options } = context;
    if (servers.kind !== "masters") throw new Error(`recipe redlock cannot work on ${servers.kind}`);
    const locks = redLocks({
      nodes: servers.addresses.map(({ host, port }) => ({
        url: `redis://${host}:${port}`,
        durable: options.durable === true,
      })),
      leaseMs,
      nodeTimeoutMs,
      releaseTimeoutMs: 1_000,
      restartGuard: options.restartGuard !== false,
      ...(options.fencing === "write-back" && { fencing: "write-back" }),
    });
    await locks.ready({ waitMs: 30_000 });
    return providerClient(locks, context);
  },
};
