import type { CheckerName } from "../checkers/judge.js";
import type { KeySpec, PlannedFault, Scenario, Topology, WorkerGroup } from "../engine/scenario.js";

interface Setting {
  readonly id: string;
  readonly topology: Topology;
  readonly key: KeySpec;
  readonly group: Partial<WorkerGroup> & Pick<WorkerGroup, "recipe">;
  readonly pass: readonly CheckerName[];
  readonly runMs?: number;
  readonly minGrants?: number;
  readonly plan?: readonly PlannedFault[];
  /** Of others beside them. */
  readonly others?: Partial<WorkerGroup>;
}

/** Short, with limits in proportion: a right recipe has time to spare, and a wrong one soon differs from it. */
function setting({
  id,
  topology,
  key,
  group,
  pass,
  runMs = 2_000,
  minGrants = 5,
  plan = [],
  others,
}: Setting): Scenario {
  const worker: WorkerGroup = { name: "w", count: 4, keys: ["k1"], holdMs: [5, 20], ...group };
  return {
    id,
    title: `A ground for mutants: ${key.kind} on ${key.backend}`,
    tags: [],
    topology,
    keys: { k1: key },
    groups: [worker, ...(others === undefined ? [] : [{ ...worker, name: "o", count: 2, ...others }])],
    runMs,
    plan: () => plan,
    expect: { pass: ["heal-liveness", "leaks", ...pass] },
    check: {
      minGrants,
      handoverLimitMs: key.leaseMs + 2_000,
      healLimitMs: plan.length === 0 ? 4_000 : 10_000,
      lostLateMs: 250,
      lateMs: 2_000,
    },
    faults: plan.length === 0 ? ["none"] : [...new Set(plan.map(({ fault }) => fault))],
    mode: "ours",
  };
}

const zooKeeper: Topology = { kind: "zookeeper", members: 1 };
const redis: Topology = { kind: "redis" };
const exclusive: readonly CheckerName[] = ["belief", "mutex", "fence-order", "handover"];

const zkKey: KeySpec = { kind: "mutex", backend: "zookeeper", fair: true, fenced: true, leaseMs: 1_500 };
const redisKey: KeySpec = { kind: "mutex", backend: "redis", fenced: true, leaseMs: 1_500 };

/** Nothing passes between the holder and its server for twice as long as it was promised the lock; it had renewed before. */
const cutOff: readonly PlannedFault[] = [
  { fault: "link.hole", target: "holder(k1)", after: "held(k1)", atMs: 1_000, forMs: 3_000 },
];

export const zkMutex: Scenario = setting({
  id: "zk-mutex",
  topology: zooKeeper,
  key: zkKey,
  group: { recipe: "zookeeper" },
  pass: [...exclusive, "fifo"],
});

export const zkImpatient: Scenario = setting({
  id: "zk-impatient",
  topology: zooKeeper,
  key: zkKey,
  group: { recipe: "zookeeper", count: 3, holdMs: [50, 100] },
  others: { holdMs: [5, 20], waitMs: 60 },
  // Long enough for a queue that stands still to be noticed.
  runMs: 6_000,
  pass: exclusive,
  minGrants: 3,
});

export const zkCutOff: Scenario = setting({
  id: "zk-cut-off",
  topology: zooKeeper,
  key: zkKey,
  group: { recipe: "zookeeper", holdMs: [4_000, 4_500], proxied: true },
  runMs: 6_000,
  pass: ["belief", "advertised", "lost-notice"],
  minGrants: 2,
  plan: cutOff,
});

export const zkReadWrite: Scenario = setting({
  id: "zk-read-write",
  topology: zooKeeper,
  key: { kind: "read-write", backend: "zookeeper", fenced: true, leaseMs: 1_500 },
  group: { recipe: "zookeeper" },
  pass: ["rw", "fence-order"],
});

export const zkSemaphore: Scenario = setting({
  id: "zk-semaphore",
  topology: zooKeeper,
  key: { kind: "semaphore", backend: "zookeeper", limit: 2, leaseMs: 1_500 },
  group: { recipe: "zookeeper", count: 5, options: { permits: 2 } },
  pass: ["permits"],
});

export const zkReentrant: Scenario = setting({
  id: "zk-reentrant",
  topology: zooKeeper,
  key: { kind: "reentrant", backend: "zookeeper", fenced: true, leaseMs: 1_500 },
  group: { recipe: "zookeeper" },
  pass: ["reentry", "fence-order"],
});

export const redisMutex: Scenario = setting({
  id: "redis-mutex",
  topology: redis,
  key: redisKey,
  group: { recipe: "redis" },
  pass: exclusive,
});

export const redisFair: Scenario = setting({
  id: "redis-fair",
  topology: redis,
  key: { ...redisKey, kind: "fair", fair: true },
  // Long turns of many, so that a look at the queue now and then sees each of its members.
  group: { recipe: "redis", count: 6, holdMs: [60, 120], options: { named: true } },
  runMs: 4_000,
  pass: [...exclusive, "fifo"],
});

export const redisCutOff: Scenario = setting({
  id: "redis-cut-off",
  topology: redis,
  key: redisKey,
  group: { recipe: "redis", holdMs: [4_000, 4_500], proxied: true },
  runMs: 6_000,
  pass: ["belief", "advertised", "lost-notice"],
  minGrants: 2,
  plan: cutOff,
});

export const redisReadWrite: Scenario = setting({
  id: "redis-read-write",
  topology: redis,
  key: { kind: "read-write", backend: "redis", fenced: true, leaseMs: 1_500 },
  group: { recipe: "redis", contenders: 2 },
  minGrants: 40,
  pass: ["rw", "fence-order"],
});

export const redisSemaphore: Scenario = setting({
  id: "redis-semaphore",
  topology: redis,
  key: { kind: "semaphore", backend: "redis", limit: 2, leaseMs: 1_500 },
  group: { recipe: "redis", count: 5, options: { permits: 2 } },
  pass: ["permits"],
});

export const redLock: Scenario = setting({
  id: "redlock",
  topology: { kind: "masters", count: 5, persistence: "none" },
  key: { kind: "redlock", backend: "redlock", leaseMs: 1_500 },
  group: { recipe: "redlock", count: 3 },
  pass: ["belief", "mutex"],
});
