import type { Redis } from "ioredis";
import type { BenchLock, NodePeer } from "../turns.js";
import { closeRedis, connectRedis } from "./redis-client.js";
import { versionOf } from "./version-of.js";

/**
 * The shortest exchanges that give exclusion: SET NX and DEL if no owner waits. If owners wait, a list with one
 * element, BLPOP and LPUSH. They are unsafe: if a holder dies, the lock stays taken, or is gone.
 */
export const peer: NodePeer = {
  versions: { ioredis: versionOf("ioredis") },
  async connect(server) {
    const redis = await connectRedis(server);
    const blocking: Redis[] = [];
    return {
      lock(name, contended) {
        if (!contended) return flag(redis, `shortest-${name}`);
        // BLPOP holds up everything behind it on its connection, so each lock has a connection of its own.
        const own = redis.duplicate();
        blocking.push(own);
        return baton(own, `shortest-${name}`);
      },
      async close() {
        await Promise.all([redis, ...blocking].map(closeRedis));
      },
    };
  },
};

function flag(redis: Redis, key: string): BenchLock {
  return {
    async acquire() {
      if ((await redis.set(key, "1", "PX", 30_000, "NX")) !== "OK") throw new Error(`${key} is taken`);
    },
    async release() {
      await redis.del(key);
    },
  };
}

/** Lists that have their element, or had it before the first owner waited. */
const begun = new Set<string>();

function baton(redis: Redis, key: string): BenchLock {
  return {
    async acquire() {
      if (!begun.has(key)) {
        begun.add(key);
        await redis.lpush(key, "1");
      }
      await redis.blpop(key, 0);
    },
    async release() {
      await redis.lpush(key, "1");
    },
  };
}
