import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  eventually,
  hashSlot,
  type RedisCluster,
  RedisConnection,
  type RedisNode,
  startRedisCluster,
} from "../../src/index.js";

test("slots are those of the servers", () => {
  expect(hashSlot("123456789")).toBe(12_739);
  expect(hashSlot("{user}.a")).toBe(hashSlot("user"));
  expect(hashSlot("foo{}{bar}")).toBe(8_363);
  expect(hashSlot("foo{{bar}}")).toBe(hashSlot("{bar"));
});

describe("three masters with a replica each", () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster();
  });

  beforeEach(() => cluster.ready());

  afterAll(() => cluster.stop());

  test("serve all slots when start resolves, and agree with us about the slot of a key", async () => {
    const masters = new Set<RedisNode>();
    for (const key of ["a", "b", "c", "{tag}x", "täg"]) {
      const slot = cluster.slotOf(key);
      const [node] = cluster.nodes;
      expect(await node?.command("CLUSTER", "KEYSLOT", key)).toBe(slot);
      const owner = await cluster.nodeOfSlot(slot);
      expect(await owner.command("SET", key, 1)).toBe("OK");
      masters.add(owner);
    }
    expect(masters).toEqual(new Set(cluster.nodes.slice(0, 3)));
    for (const [index, master] of cluster.nodes.slice(0, 3).entries()) {
      expect(await cluster.replicasOf(master)).toEqual([cluster.nodes[index + 3]]);
    }
  });

  test("failover has a replica take over, and the other way round", async () => {
    const old = await cluster.nodeOfSlot(0);
    const next = await cluster.failover(old);
    expect(next).not.toBe(old);
    expect(await cluster.nodeOfSlot(0)).toBe(next);
    await cluster.ready();
    expect(await cluster.failover(old)).toBe(old);
    expect(await cluster.nodeOfSlot(0)).toBe(old);
  });

  test("a moved slot takes its keys along, and clients are sent after it by ASK and then by MOVED", async () => {
    const key = "{moved}key";
    const slot = cluster.slotOf(key);
    const from = await cluster.nodeOfSlot(slot);
    const to = cluster.nodes.slice(0, 3).find((node) => node !== from) as RedisNode;
    await from.command("SET", key, 1);
    const move = await cluster.startMove(slot, from, to);
    expect(await from.command("GET", key)).toBe("1");
    await expect(from.command("GET", "{moved}none")).rejects.toThrow(`ASK ${slot} ${to.address}`);
    expect(await move.moveKeys()).toBe(1);
    await expect(from.command("GET", key)).rejects.toMatchObject({ code: "ASK" });
    await move.finish();
    await expect(from.command("GET", key)).rejects.toThrow(`MOVED ${slot} ${to.address}`);
    expect(await to.command("GET", key)).toBe("1");
    expect(await cluster.nodeOfSlot(slot)).toBe(to);
    await cluster.moveSlot(slot, to, from);
    expect(await from.command("GET", key)).toBe("1");
  });

  test("a killed master's slots go to its replica, and it is a replica when it is back", async () => {
    const old = await cluster.nodeOfSlot(16_383);
    const [replica] = await cluster.replicasOf(old);
    await cluster.kill(old);
    await cluster.untilMaster(replica as RedisNode);
    expect(await cluster.nodeOfSlot(16_383)).toBe(replica);
    await old.restart();
    await eventually(async () => (await old.role()).role === "replica", { what: "it to follow" });
    await cluster.ready();
  });
});

test("behind proxies a cluster with a password sends its clients to proxies only", async () => {
  await using cluster = await startRedisCluster({ clientProxies: true, password: "geheim", replicas: 0 });
  const proxies = cluster.addresses.map(({ port }) => port);
  expect(proxies).toEqual(cluster.nodes.map((node) => cluster.proxyOf(node).port));
  const owner = await cluster.nodeOfKey("key");
  const other = cluster.nodes.find((node) => node !== owner) as RedisNode;
  using client = await RedisConnection.connect({ ...cluster.proxyOf(other), password: "geheim" });
  const moved = `MOVED ${cluster.slotOf("key")} ${cluster.proxyOf(owner).connectString}`;
  await expect(client.command("SET", "key", 1)).rejects.toThrow(moved);

  const slots = [await client.command("CLUSTER", "SLOTS")].flat() as unknown as [
    number,
    number,
    [string, number],
  ][];
  expect(slots.map(([first]) => first).sort((a, b) => a - b)).toEqual([0, 5_461, 10_922]);
  expect(slots.map(([, , [, port]]) => port).sort()).toEqual([...proxies].sort());
  const nodes = String(await client.command("CLUSTER", "NODES"));
  const ports = [...nodes.matchAll(/127\.0\.0\.1:(\d+)@/g)].map(([, port]) => Number(port));
  expect(ports.sort()).toEqual([...proxies].sort());
  const shards = JSON.stringify(await client.command("CLUSTER", "SHARDS"));
  for (const port of proxies) expect(shards).toContain(`"port",${port}`);
});
