import type { RecipeContext } from "@holdfast/chaos";
import { Redis, type RedisOptions } from "ioredis";

type Settings = Omit<RedisOptions, "replyMapping">;

/** Connects ioredis to one server, or to the master that Sentinels name. Resolves once the server answers. */
export async function connectRedis(
  servers: RecipeContext["servers"],
  options: Settings = {},
): Promise<Redis> {
  return await answering(new Redis({ ...placeOf(servers), ...options }));
}

export async function answering(redis: Redis): Promise<Redis> {
  // Failing commands reject with the error, so the event needs no handling.
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
