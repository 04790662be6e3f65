import { fairKeyList, fairKeys, mutexKeys, redissonChannels } from "@holdfast/redis-recipes/internal";
import { expect, it } from "vitest";
import { stage } from "../../../redis-recipes/test/model/stage.js";
import {
  busyMs,
  count,
  fill,
  holder,
  leaseMs,
  living,
  mostMs,
  name,
  uuid,
  waiter,
} from "../../../redis-recipes/test/scripts/crowd.js";
import { takeOut } from "../../src/redis/action-scripts.js";
import { versionOf } from "../../src/redis/reading.js";

const on = stage();
const version = versionOf({
  shape: { is: "lock", fields: [{ field: holder, count: 1 }], mode: null },
  token: "17",
} as Parameters<typeof versionOf>[0]);

it("taking the dead of a fair lock out by an operator's hand does not block the server, and leaves all that are alive in line", async () => {
  const keys = fairKeys(name);
  const line = () =>
    on.server.redis.eval(fill, 5, ...fairKeyList(keys), holder, leaseMs, count, uuid, "fair");
  const ms = await busyMs(on, line, {
    script: { lua: takeOut },
    keys: [name, mutexKeys(name).waiters, keys.alive, keys.queue, keys.deadlines, keys.token],
    args: ["dead", "", 300_000, "publish", redissonChannels.mutex(name), "act", version],
  });
  expect(await on.server.redis.lrange(keys.queue, 0, -1)).toEqual(living.map(waiter));
  expect(ms).toBeLessThan(mostMs);
});
