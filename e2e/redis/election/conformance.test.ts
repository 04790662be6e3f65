import { leaderElectionConformance } from "@holdfast/core/testing";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { singleFixture } from "../mutex/fixture.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

leaderElectionConformance("Redis, one server", () =>
  singleFixture(node, {
    async loseHold(redis, handle) {
      await redis.command("DEL", `holdfast_election:{${handle.name}}`);
    },
  }),
);
