import { Mutex } from "redis-semaphore";
import type { NodePeer } from "../turns.js";
import { closeRedis, connectRedis } from "./redis-client.js";
import { versionOf } from "./version-of.js";

/**
 * The lock as the readme makes it, except the time-out: by default an acquire fails after 10 s. It asks again every 10
 * ms.
 */
export const peer: NodePeer = {
  versions: { "redis-semaphore": versionOf("redis-semaphore"), ioredis: versionOf("ioredis") },
  async connect(server) {
    const redis = await connectRedis(server);
    return {
      lock: (name) => new Mutex(redis, `semaphore-${name}`, { acquireTimeout: 300_000, lockTimeout: 30_000 }),
      close: () => closeRedis(redis),
    };
  },
};
