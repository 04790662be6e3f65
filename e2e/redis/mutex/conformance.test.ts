import { mutexConformance, reentrantMutexConformance } from "@holdfast/core/testing";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { singleFixture } from "./fixture.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

const fixture = () => singleFixture(node);

mutexConformance("Redis, one server", fixture);
reentrantMutexConformance("Redis, one server", fixture);
