import { derivedMutexConformance } from "@holdfast/core/testing";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { singleFixture } from "../mutex/fixture.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

derivedMutexConformance(
  "Redis, one server",
  "fair mutex",
  (provider, name) => (provider as RedisLocks).fairMutex(name),
  () => singleFixture(node),
  { fairness: "fifo" },
);
