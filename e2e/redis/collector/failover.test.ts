import type { LockCollector } from "@holdfast/collectors";
import { redisCollector } from "@holdfast/collectors/redis";
import { eventually, startRedisCluster, startRedisReplicaSet } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";

const owner = "0c1b9c2e-3b0a-4c5d-9e6f-112233445566:1";

/**
 * Reads the version that an operator sees. A lock cannot be read while a connection is being replaced, so the read is repeated.
 */
async function versionOf(collector: LockCollector, key: string): Promise<string> {
  const read = async () => (await collector.detail(key, { maxWaiters: 1 }))?.version;
  return eventually(read, { what: "the lock's picture" });
}

it("follows the master that sentinels name after the old one has died", async () => {
  await using set = await startRedisReplicaSet();
  const sentinels = { sentinels: set.sentinelAddresses, name: set.name };
  const collector = redisCollector({ sentinels, patterns: ["f:*"], channelsEveryMs: 300 });
  onTestFinished(() => collector.close());
  await (await set.master()).command("HSET", "f:before", owner, "1");
  await eventually(() => collector.get("f:before") !== undefined, { what: "the first lock" });
  const old = await set.killMaster();
  const next = await set.untilMaster({ not: old });
  await next.command("HSET", "f:after", owner, "1");
  await eventually(() => collector.get("f:after") !== undefined, {
    what: "the lock on the new master",
    withinMs: 20_000,
    detail: () => JSON.stringify(collector.sources()),
  });
  const version = await versionOf(collector, "f:after");
  const request = { action: "force-release", key: "f:after", entry: null, dryRun: false } as const;
  expect((await collector.act({ ...request, expectedVersion: version })).outcome).toBe("done");
  expect(await next.command("EXISTS", "f:after")).toBe(0);
});

it("follows a cluster whose master has been replaced", async () => {
  await using cluster = await startRedisCluster();
  const collector = redisCollector({
    cluster: { nodes: cluster.addresses },
    patterns: ["f:*"],
    channelsEveryMs: 300,
  });
  onTestFinished(() => collector.close());
  const old = await cluster.nodeOfKey("f:key");
  await eventually(() => collector.sources()[0]?.state === "ok", { what: "a whole pass", withinMs: 15_000 });
  const next = await cluster.failover(old);
  await next.command("HSET", "f:key", owner, "1");
  await eventually(() => collector.get("f:key") !== undefined, {
    what: "the lock on the new master",
    withinMs: 20_000,
    detail: () => JSON.stringify(collector.sources()),
  });
  const version = await versionOf(collector, "f:key");
  const request = { action: "force-release", key: "f:key", entry: null, dryRun: false } as const;
  expect((await collector.act({ ...request, expectedVersion: version })).outcome).toBe("done");
});
