import type { RecipeContext } from "@holdfast/chaos";
import { Redis, type RedisOptions } from "ioredis";

type Settings = Omit<RedisOptions, "replyMapping">;

/** ioredis at one server, or led to the master by Sentinels, once it answers. */
export async function connectRedis(
  servers: RecipeContext["servers"],
  options: Settings = {},
): Promise<Redis> {
  return await answering(new Redis({ ...placeOf(servers), ...options }));
}

export async function answering(redis: Redis): Promise<Redis> {
  // Commands that fail say so.
  redis.on("error", () => {});
  await redis.ping();
  return redis;
}

function placeOf(servers: RecipeContext["servers"]): Settings {
  if (servers.kind === "redis") return { ...servers.address };
  if (servers.kind !== "replicated") throw new Error(`it knows no servers of kind ${servers.kind}`);
  const { sentinels, masterName, natMap } = servers;
  return {
    sentinels: sentinels.map((each) => ({ ...each })),
    name: masterName,
    // Without this option ioredis stays with a master that Sentinels have replaced.
    failoverDetector: true,
    ...(natMap !== undefined && { natMap: { ...natMap } }),
  };
}
