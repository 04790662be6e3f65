import { readFileSync } from "node:fs";
import type { LockEventMap, LockProvider } from "@holdfast/core";
import { lockMetrics } from "@holdfast/metrics";
import { labelWord } from "@holdfast/metrics/internal";
import { redLocks } from "@holdfast/multi-lock";
import { redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisNode, startEmbeddedZooKeeper, startRedis } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

let nodes: readonly RedisNode[];
beforeAll(async () => {
  nodes = await Promise.all(Array.from({ length: 3 }, () => startRedis()));
});
afterAll(() => Promise.all((nodes ?? []).map((node) => node.stop())));

const urlOf = (node: RedisNode | undefined): string => `redis://127.0.0.1:${node?.port}`;

/** How many scripts a server has run since its start. */
async function scriptCalls(node: RedisNode): Promise<number> {
  const stats = await node.info("commandstats");
  return ["cmdstat_eval", "cmdstat_evalsha"]
    .map((name) => Number(/calls=(\d+)/.exec(stats[name] ?? "")?.[1] ?? 0))
    .reduce((sum, each) => sum + each, 0);
}

async function measured(locks: LockProvider) {
  const metrics = lockMetrics(locks);
  const heard: LockEventMap["request-settled"][] = [];
  locks.events.on("request-settled", (event) => heard.push(event));
  onTestFinished(async () => {
    metrics.close();
    await locks.close();
  });
  await locks.ready();
  const histogram = async () => {
    const metric = (await metrics.registry?.getMetricsAsJSON())?.find(
      ({ name }) => name === "holdfast_backend_request_duration_seconds",
    );
    const values = (metric?.values ?? []) as unknown as {
      metricName: string;
      value: number;
      labels: Record<string, string>;
    }[];
    const of = (part: "count" | "sum") =>
      Object.fromEntries(
        values.flatMap(({ metricName, value, labels }) =>
          metricName.endsWith(`_${part}`) ? [[`${labels.backend} ${labels.op}`, value]] : [],
        ),
      );
    return { counts: of("count"), sums: of("sum") };
  };
  return { locks, heard, histogram };
}

test("the time at the backend is measured by operation on Redis, as many as the server has run", async () => {
  const [node] = nodes as [RedisNode];
  const locks = redisLocks({ url: urlOf(node) });
  const { heard, histogram } = await measured(locks);
  const before = await scriptCalls(node);
  for (let turn = 0; turn < 5; turn++) await (await locks.mutex(`m${turn}`).acquire()).release();
  const { counts, sums } = await histogram();
  expect(counts).toMatchObject({ "redis mutex_acquire": 5, "redis mutex_release": 5 });
  expect(Object.values(counts).reduce((sum, each) => sum + each, 0)).toBe(heard.length);
  expect(sums["redis mutex_acquire"]).toBeGreaterThan(0);
  const scripts = heard.filter(({ op }) => op.startsWith("mutex-"));
  expect(scripts).toHaveLength((await scriptCalls(node)) - before);
  expect(heard[0]).toMatchObject({ provider: locks.id, backend: "redis", outcome: "ok" });
});

/** The operations that count in the recording rule for the backend's share of the waiting time. */
const waitedFor = (): RegExp => {
  const rules = readFileSync(
    new URL("../../../apps/dashboard/ops/prometheus/rules/recording.yml", import.meta.url),
    "utf8",
  );
  const [, expression] = /request_duration_seconds_sum\{op=~"([^"]+)"\}/.exec(rules) ?? [];
  return new RegExp(`^(?:${expression})$`);
};

test("the share of the backend in the waiting counts what asks for locks of each kind, on Redis and on ZooKeeper, and no release", async () => {
  const [node] = nodes as [RedisNode];
  await using server = await startEmbeddedZooKeeper();
  const providers = [
    await measured(redisLocks({ url: urlOf(node) })),
    await measured(zookeeperLocks({ connect: server.connectString })),
  ];
  const counted = waitedFor();
  for (const [at, { locks, heard }] of providers.entries()) {
    const name = `counted-${at}`;
    const takes = [
      () => locks.mutex(`${name}-mutex`).acquire(),
      () => locks.readWriteLock(`${name}-rw`).read.acquire(),
      () => locks.readWriteLock(`${name}-rw`).write.acquire(),
      () => locks.semaphore(`${name}-semaphore`, 2).acquire(),
    ];
    for (const take of takes) {
      heard.length = 0;
      const handle = await take();
      const asked = heard.map(({ op }) => labelWord(op));
      expect(
        asked.filter((op) => counted.test(op)),
        `of ${asked.join()}`,
      ).not.toEqual([]);
      heard.length = 0;
      await handle.release();
      const ended = heard.map(({ op }) => labelWord(op));
      expect(
        ended.filter((op) => counted.test(op)),
        `of ${ended.join()}`,
      ).toEqual([]);
    }
  }
});

test("of RedLock, each request to each of the masters", async () => {
  // The one round of votes that is counted must not be lost because a busy machine is late.
  const times = { leaseMs: 4_000, maxLeaseMs: 4_000, nodeTimeoutMs: 2_000 };
  const locks = redLocks({ nodes: nodes.map(urlOf), ...times });
  const { heard, histogram } = await measured(locks);
  await eventually(
    async () => {
      const handle = await locks.mutex("voted").tryAcquire();
      await handle?.release();
      return handle !== null;
    },
    { withinMs: 30_000, what: "new masters to vote" },
  );
  const calls = await Promise.all(nodes.map(scriptCalls));
  const before = heard.filter(({ op }) => op === "redlock-vote").length;
  await (await locks.mutex("counted").acquire()).release();
  await eventually(
    async () =>
      (await Promise.all(nodes.map(scriptCalls))).every((each, index) => each >= (calls[index] ?? 0) + 2),
    { what: "the release to be everywhere" },
  );
  const votes = heard.filter(({ op }) => op === "redlock-vote").length - before;
  expect(votes).toBe(nodes.length);
  const { counts } = await histogram();
  expect(Object.keys(counts).every((each) => each.startsWith("redlock "))).toBe(true);
  expect(Object.values(counts).reduce((sum, each) => sum + each, 0)).toBe(heard.length);
});
