import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startEnsemble, startRedis, startRedisReplicaSet, startZooKeeper } from "../src/index.js";

const prefix = ["nice", "-n", "5"];

/** The niceness that `nice` gave to the process before it became the server. */
function nicenessOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // Fields are counted after the name, which may contain any character.
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]);
}

test("a prefix starts the server as the very process that signals go to, at each start", async () => {
  await using redis = await startRedis({ place: { prefix } });
  expect(nicenessOf(redis.pid)).toBe(nicenessOf(process.pid) + 5);
  expect(Number((await redis.info("server")).process_id)).toBe(redis.pid);
  await redis.pause();
  redis.resume();
  await redis.restart();
  expect(nicenessOf(redis.pid)).toBe(nicenessOf(process.pid) + 5);

  await using zookeeper = await startZooKeeper({ place: { prefix } });
  expect(nicenessOf(zookeeper.pid)).toBe(nicenessOf(process.pid) + 5);
});

test("servers at another address than 127.0.0.1 are found there, by clients and by each other", async () => {
  // All addresses of 127.0.0.0/8 belong to this machine.
  const places = ["127.0.0.2", "127.0.0.3"].map((address) => ({ address }));
  await using set = await startRedisReplicaSet({ replicas: 1, sentinels: 1, places });
  expect([...set.nodes, ...set.sentinels].map(({ host }) => host)).toEqual([
    "127.0.0.2",
    "127.0.0.3",
    "127.0.0.2",
  ]);
  const [told] = [await set.sentinels[0]?.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", set.name)].flat();
  expect(told).toBe("127.0.0.2");

  await using ensemble = await startEnsemble({
    places: ["127.0.0.2", "127.0.0.3", "127.0.0.4"].map((address) => ({ address })),
  });
  expect(ensemble.connectString).toMatch(/^127\.0\.0\.2:\d+,127\.0\.0\.3:\d+,127\.0\.0\.4:\d+$/);
  await expect.poll(() => ensemble.followers()).toHaveLength(2);
});

test("a place for each server or none, and no proxies that placed servers could not reach", async () => {
  const two = [{}, {}];
  await expect(startEnsemble({ places: two })).rejects.toThrow("2 places for 3 servers");
  await expect(startEnsemble({ nodes: 2, places: two, quorumProxies: true })).rejects.toThrow(RangeError);
  await expect(startRedisReplicaSet({ places: two })).rejects.toThrow("2 places for 3 servers");
  await expect(startRedisReplicaSet({ replicas: 1, places: two })).rejects.toThrow("2 places for 3 servers");
  await expect(
    startRedisReplicaSet({ replicas: 1, sentinels: 1, places: two, replicationProxies: true }),
  ).rejects.toThrow(RangeError);
});
