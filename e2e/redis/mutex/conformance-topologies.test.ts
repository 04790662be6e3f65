import { mutexConformance, reentrantMutexConformance } from "@holdfast/core/testing";
import {
  type RedisCluster,
  type RedisReplicaSet,
  startRedisCluster,
  startRedisReplicaSet,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe } from "vitest";
import { clusterFixture, sentinelFixture } from "./topologies.js";

describe("behind sentinels", () => {
  let set: RedisReplicaSet;
  beforeAll(async () => {
    set = await startRedisReplicaSet();
  });
  afterAll(() => set?.stop());
  mutexConformance("Redis, sentinels", () => sentinelFixture(set));
  reentrantMutexConformance("Redis, sentinels", () => sentinelFixture(set));
});

describe("in a cluster", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster?.stop());
  mutexConformance("Redis, cluster", () => clusterFixture(cluster));
  reentrantMutexConformance("Redis, cluster", () => clusterFixture(cluster));
});
