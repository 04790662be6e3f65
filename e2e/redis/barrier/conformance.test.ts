import { barrierConformance, doubleBarrierConformance } from "@holdfast/core/testing";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { singleFixture } from "../mutex/fixture.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

/** A provider's seats go with a hold of its own: their members begin with what its owner on the wire begins with. */
const endSeats = `
local owner = redis.call('HKEYS', KEYS[1])[1]
redis.call('DEL', KEYS[1])
local uuid = string.match(owner, '^(.*):%d+$')
for _, key in ipairs(redis.call('KEYS', 'holdfast_double_barrier_members:*')) do
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    if string.sub(member, 1, #uuid) == uuid then redis.call('ZREM', key, member) end
  end
end
`;

const fixture = () =>
  singleFixture(node, {
    async loseHold(redis, handle) {
      await redis.command("EVAL", endSeats, 1, handle.name);
    },
  });

barrierConformance("Redis, one server", fixture);
doubleBarrierConformance("Redis, one server", fixture);
