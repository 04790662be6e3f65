import type { LockHandle } from "@holdfast/core";
import { semaphoreConformance } from "@holdfast/core/testing";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { hiddenFixture } from "./hidden-waiters.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

semaphoreConformance("Redis, one server", () =>
  hiddenFixture(node, {
    anonymous: true,
    /** The number is counted up again and the take forgotten, as an operator would undo it. */
    async loseHold(redis, handle) {
      const { name, permitIds } = handle as LockHandle & { permitIds: readonly string[] };
      const [owner = ""] = (permitIds[0] as string).split("/");
      await redis.command("DEL", `{${name}}:holdfast_take:${owner}`);
      await redis.command("INCRBY", name, permitIds.length);
      await redis.command("PUBLISH", `redisson_sc:{${name}}`, permitIds.length);
    },
    waiting: (desk, name) => desk.rooms.waitingOn(`redisson_sc:{${name}}`),
  }),
);
