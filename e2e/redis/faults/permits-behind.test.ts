import { setTimeout as pass } from "node:timers/promises";
import type { PermitHandle } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisNode,
  type RedisReplicaSet,
  startRedisReplicaSet,
} from "@holdfast/test-servers";
import { afterEach, beforeEach, expect, it } from "vitest";

const leaseMs = 2_000;
const permits = 2;
let set: RedisReplicaSet;
let master: RedisNode;
let locks: RedisLocks;

beforeEach(async () => {
  set = await startRedisReplicaSet({ replicationProxies: true });
  master = await set.master();
  locks = redisLocks({ sentinels: { sentinels: set.sentinelAddresses, name: set.name }, leaseMs });
  await locks.ready();
});
afterEach(async () => {
  await locks.close({ releaseTimeoutMs: 300 });
  await set.stop();
});

it("permits that were given back to a master that dies before its replicas hear of it are free at the next one", async () => {
  const handles = await takeAll("given-back");
  await inStep("given-back", 0);
  await cutReplication();
  for (const handle of handles) expect(await handle.release()).toBe("released");
  expect(await free(master, "given-back")).toBe(permits);
  const next = await replaceMaster();
  await eventually(async () => (await free(next, "given-back")) === permits, {
    what: "the permits to be free",
  });
});

it("permits whose take died with the master are not given back at the next one, however late", async () => {
  for (const handle of await takeAll("never-taken")) await handle.release();
  await inStep("never-taken", permits);
  await cutReplication();
  const handles = await takeAll("never-taken");
  expect(await free(master, "never-taken")).toBe(0);
  const next = await replaceMaster();
  await eventually(() => handles.every(({ lost }) => lost.aborted), { what: "the losses to be told" });
  // The releases come after the deadline too, when the client no longer knows whether the permits had been held.
  await pass(leaseMs);
  for (const handle of handles) await handle.release();
  expect(await free(next, "never-taken")).toBe(permits);
});

function takeAll(name: string): Promise<readonly PermitHandle[]> {
  const semaphore = locks.plainSemaphore(name, permits);
  return Promise.all(Array.from({ length: permits }, () => semaphore.acquire({ waitMs: 30_000 })));
}

async function free(node: RedisNode, name: string): Promise<number> {
  return Number(await node.command("GET", name));
}

async function inStep(name: string, number: number): Promise<void> {
  const replicas = await set.replicas();
  await eventually(
    async () =>
      (await Promise.all(replicas.map((node) => free(node, name)))).every((each) => each === number),
    { what: "the replicas to be in step" },
  );
}

async function cutReplication(): Promise<void> {
  for (const replica of await set.replicas()) set.cutReplication(replica);
}

async function replaceMaster(): Promise<RedisNode> {
  const replicas = await set.replicas();
  await master.kill();
  const next = await set.untilMaster({ not: master });
  // Replication is restored only now. Earlier, the writes that were held back would reach the replicas after all.
  for (const replica of replicas) set.healReplication(replica);
  return next;
}
