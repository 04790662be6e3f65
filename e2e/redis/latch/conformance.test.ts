import { countDownLatchConformance } from "@holdfast/core/testing";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { singleFixture } from "../mutex/fixture.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

countDownLatchConformance("Redis, one server", () => singleFixture(node));
