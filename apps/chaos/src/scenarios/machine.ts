import type { CheckerName } from "../checkers/judge.js";
import type { KeySpec, Scenario, WorkerGroup } from "../engine/scenario.js";

const zk = (leaseMs: number): KeySpec => ({
  kind: "mutex",
  backend: "zookeeper",
  fair: true,
  fenced: true,
  leaseMs,
});
const redis = (leaseMs: number): KeySpec => ({ kind: "mutex", backend: "redis", fenced: true, leaseMs });

const safe: readonly CheckerName[] = [
  "belief",
  "advertised",
  "mutex",
  "effect",
  "fence-order",
  "fence-effect",
  "lost-notice",
  "heal-liveness",
  "leaks",
];

const hourMs = 3_600_000;
const minuteMs = 60_000;

const workers = (recipe: string, more: Partial<WorkerGroup> = {}): WorkerGroup => ({
  name: "w",
  count: 4,
  recipe,
  keys: ["k1"],
  holdMs: [20, 60],
  writes: "fenced",
  ...more,
});

const never = { "lost-notice.judged": { most: 0 } } as const;

/** Faults of the machine: clocks, disks, limits. */
export const machineScenarios: readonly Scenario[] = [
  {
    id: "Z13",
    title:
      "Flushes take 300 ms, then the disk is full and the server ends: nothing is granted twice, all goes on after",
    tags: ["full"],
    topology: { kind: "zookeeper", members: 1, shims: true, smallDisk: true },
    keys: { k1: zk(6_000) },
    groups: [workers("zookeeper")],
    runMs: 9_000,
    plan: (random) => [
      { fault: "disk.slow", target: "all", atMs: 800, forMs: 3_000, options: { delayMs: 300 } },
      {
        fault: "disk.full",
        target: "all",
        after: "ended(disk.slow)",
        atMs: random.between(500, 1_000),
        forMs: 1_000,
      },
    ],
    expect: { pass: [...safe, "handover"] },
    faults: ["slow flushes", "disk full"],
    mode: "ours",
  },
  {
    id: "Z15",
    title:
      "The server's wall clock jumps an hour ahead and back by two: no session ends, and no client notices",
    tags: ["full"],
    topology: { kind: "zookeeper", members: 1, shims: true },
    keys: { k1: zk(3_000) },
    groups: [workers("zookeeper", { holdMs: [20, 200] })],
    runMs: 5_000,
    plan: () => [
      { fault: "clock.jump", target: "all", atMs: 800, options: { byMs: hourMs } },
      {
        fault: "clock.jump",
        target: "all",
        after: "begun(clock.jump)",
        atMs: 2_000,
        options: { byMs: -hourMs },
      },
    ],
    expect: { pass: [...safe, "handover"], figures: never },
    faults: ["server's clock jumps"],
    mode: "ours",
  },
  {
    id: "Z15-clients",
    title:
      "Wall clocks of clients jump an hour ahead and back by two: what may have been a sleep ends holds in time, nothing else does",
    tags: ["full"],
    topology: { kind: "zookeeper", members: 1, shims: true },
    keys: { k1: zk(3_000) },
    groups: [workers("zookeeper", { holdMs: [20, 200], shims: true })],
    needs: ["shims"],
    runMs: 5_000,
    plan: () => [
      { fault: "clock.jump", target: "workers", atMs: 800, options: { byMs: hourMs } },
      {
        fault: "clock.jump",
        target: "workers",
        after: "begun(clock.jump)",
        atMs: 2_000,
        options: { byMs: -hourMs },
      },
    ],
    expect: { pass: [...safe, "handover"] },
    faults: ["clients' clocks jump"],
    mode: "ours",
  },
  {
    id: "R15",
    title:
      "The server's wall clock jumps a minute ahead: leases are over at once, and a second client is granted",
    tags: ["full"],
    topology: { kind: "redis", shims: true },
    keys: { k1: redis(6_000) },
    groups: [
      workers("redis", { name: "h", count: 1, holdMs: [3_000, 3_500], pauseMs: [200, 300] }),
      // This client asks again and again. So it does not wait until the end of the lease that it has read.
      workers("redis", { name: "w", count: 3, pauseMs: [10, 30], waitMs: 100 }),
    ],
    runMs: 6_000,
    plan: () => [
      {
        fault: "clock.jump",
        target: "redis1",
        after: "held(k1)",
        atMs: 300,
        forMs: 1_000,
        options: { byMs: minuteMs },
      },
    ],
    expect: {
      pass: ["effect", "fence-effect", "heal-liveness"],
      violation: ["mutex", "belief"],
      report: ["advertised", "lost-notice", "handover", "fence-order", "bounded-wait", "leaks"],
    },
    check: { minGrants: 10 },
    faults: ["server's clock ahead"],
    mode: "ours",
  },
  {
    id: "R15-back",
    title:
      "The server's wall clock jumps two minutes back while a dead client holds: all wait until it is right again",
    tags: ["full"],
    topology: { kind: "redis", shims: true },
    keys: { k1: redis(1_500) },
    groups: [workers("redis", { holdMs: [100, 200] })],
    runMs: 9_000,
    plan: () => [
      { fault: "worker.kill", target: "holder(k1)", after: "granted(k1, 5)", atMs: 0 },
      {
        fault: "clock.jump",
        target: "redis1",
        after: "begun(worker.kill)",
        atMs: 0,
        forMs: 5_000,
        options: { byMs: -2 * minuteMs },
      },
    ],
    expect: { pass: safe, figures: { "stats.longestGapMs": { least: 4_000 } } },
    faults: ["server's clock behind"],
    mode: "ours",
  },
  {
    id: "R16",
    title:
      "Wall clocks of clients jump by a minute, ahead and back: leases are counted by another clock, nothing is lost",
    tags: ["full"],
    topology: { kind: "redis" },
    keys: { k1: redis(1_500) },
    groups: [workers("redis", { holdMs: [20, 1_000], shims: true })],
    needs: ["shims"],
    runMs: 5_000,
    plan: (random) => [
      { fault: "clock.jump", target: "workers", atMs: 700, options: { byMs: minuteMs } },
      {
        fault: "clock.jump",
        target: "workers",
        after: "begun(clock.jump)",
        atMs: 1_500,
        options: { byMs: -minuteMs },
      },
      {
        fault: "clock.jump",
        target: "worker(w0)",
        after: "begun(clock.jump, 2)",
        atMs: random.between(500, 1_000),
        options: { byMs: minuteMs },
      },
    ],
    expect: { pass: [...safe, "handover"], figures: never },
    check: { minGrants: 8 },
    faults: ["clients' clocks jump"],
    mode: "ours",
  },
  {
    id: "R19",
    title:
      "The disk is full, then connections are refused, then never answered: each call ends in time with an error, and all goes on after",
    tags: ["full"],
    topology: { kind: "redis", persistence: "aof-everysec", smallDisk: true },
    needs: ["limits"],
    keys: { k1: redis(1_500) },
    groups: [workers("redis", { count: 6, waitMs: 1_500, pauseMs: [10, 30] })],
    runMs: 12_000,
    plan: () => [
      { fault: "disk.full", target: "redis1", atMs: 800, forMs: 2_000 },
      {
        fault: "limit.max-clients",
        target: "redis1",
        after: "ended(disk.full)",
        atMs: 2_500,
        forMs: 1_500,
        options: { most: 3 },
      },
      {
        fault: "limit.open-files",
        target: "redis1",
        after: "ended(limit.max-clients)",
        atMs: 1_000,
        forMs: 2_000,
        options: { connections: 4 },
      },
    ],
    expect: { pass: [...safe, "bounded-wait"] },
    faults: ["disk full", "too many clients", "too few files"],
    mode: "ours",
  },
];
