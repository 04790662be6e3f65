import { once } from "node:events";
import { Redis } from "ioredis";

/** A connection to `host:port`, once it is ready. */
export async function connectRedis(server: string): Promise<Redis> {
  const redis = new Redis(`redis://${server}`, { maxRetriesPerRequest: null });
  await once(redis, "ready");
  return redis;
}

export async function closeRedis(redis: Redis): Promise<void> {
  const ended = once(redis, "end");
  redis.disconnect();
  await ended;
}
