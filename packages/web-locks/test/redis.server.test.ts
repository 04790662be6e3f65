import { redisLocks } from "@holdfast/redis-recipes";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { standard } from "./standard.js";

let server: RedisNode;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server?.stop());

standard("Redis", async () => {
  const locks = redisLocks({ url: server.url });
  await locks.ready();
  return locks;
});
