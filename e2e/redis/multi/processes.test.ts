import { type RedisNode, startRedis, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { type SetContender, startSetContenders } from "../../multi-lock/set-contenders.js";
import { setContests } from "../../multi-lock/set-contest.js";
import { Operator } from "../../zookeeper/features/operator.js";

let redis: RedisNode;
let zookeeper: ZooKeeperNode;
let contenders: readonly SetContender[] = [];

beforeAll(async () => {
  [redis, zookeeper] = await Promise.all([startRedis(), startZooKeeper()]);
  contenders = await startSetContenders({ zookeeper: zookeeper.connectString, redis: redis.url }, 3);
}, 180_000);
afterAll(async () => {
  await Promise.all(contenders.map((contender) => contender.close()));
  await Promise.all([redis?.stop(), zookeeper?.stop()]);
});

/** Expects that the lock has no holder and no waiters. */
async function expectFree(name: string): Promise<void> {
  if (name.startsWith("/")) {
    const operator = await Operator.connect(zookeeper.connectString);
    expect(await operator.children(name), name).toEqual([]);
    return;
  }
  for (const key of [name, `holdfast_waiters:{${name}}`, `holdfast_alive:{${name}}`]) {
    expect(await redis.command("EXISTS", key), key).toBe(0);
  }
}

const stage = { contenders: () => contenders, expectFree };

describe("processes that take overlapping sets on Redis in orders of their own", () => {
  setContests(["sets:a", "sets:b", "sets:c", "sets:d"], stage);
});

describe("processes that take overlapping sets on ZooKeeper and Redis in orders of their own", () => {
  setContests(["/sets/a", "/sets/b", "sets:a", "sets:b"], stage);
});
