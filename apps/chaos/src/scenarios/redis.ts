import type { Scenario } from "../engine/scenario.js";

const leaseMs = 1_500;
/**
 * How long a lock may be free in addition to the time that a lease takes. Half a second is promised, on a machine that
 * does nothing else.
 */
const besideLeaseMs = 2_500;

const mutex = { kind: "mutex", backend: "redis", fenced: true, leaseMs } as const;
const naive = { kind: "naive", backend: "redis", leaseMs } as const;

/** Scenarios on one Redis server. */
export const redisScenarios: readonly Scenario[] = [
  {
    id: "R01",
    title: "Redis without faults: mutex, fair mutex, read-write lock, semaphore, multi-lock",
    tags: ["full"],
    topology: { kind: "redis" },
    keys: {
      k1: mutex,
      k2: { ...mutex, kind: "fair", fair: true },
      k3: { ...mutex, kind: "read-write" },
      k4: { kind: "semaphore", backend: "redis", limit: 3, leaseMs },
      k5: { ...mutex, kind: "reentrant" },
      k6: { kind: "multi", backend: "redis", leaseMs },
    },
    groups: [
      {
        name: "w",
        count: 2,
        contenders: 2,
        recipe: "redis",
        keys: ["k1", "k3", "k4", "k5"],
        holdMs: [2, 10],
        writes: "fenced",
        options: { permits: 2, tries: 0.2 },
      },
      {
        name: "f",
        count: 3,
        recipe: "redis",
        keys: ["k2"],
        holdMs: [10, 30],
        writes: "fenced",
        options: { named: true },
      },
      { name: "m", count: 1, contenders: 2, recipe: "redis", keys: ["k6"], holdMs: [2, 10] },
    ],
    runMs: 5_000,
    plan: () => [],
    expect: {
      pass: [
        "belief",
        "advertised",
        "effect",
        "mutex",
        "rw",
        "permits",
        "reentry",
        "fence-order",
        "fence-effect",
        "fifo",
        "handover",
        "leaks",
        "refusals",
        "cross-wgl",
      ],
      figures: { "lost-notice.lost": { most: 0 }, "fifo.judged": { least: 10 } },
    },
    faults: ["none"],
    mode: "ours",
  },
  {
    id: "R02",
    title: "Holders are killed: a waiter has the lock when the lease is over",
    tags: ["full"],
    topology: { kind: "redis" },
    keys: { k1: mutex },
    groups: [
      {
        name: "w",
        count: 6,
        recipe: "redis",
        keys: ["k1"],
        holdMs: [5, 30],
        writes: "fenced",
      },
    ],
    runMs: 6_000,
    plan: (random) =>
      [1, 2, 3].map((nth) => ({
        fault: "worker.kill",
        target: "holder(k1)",
        after: `granted(k1, ${20 * nth})`,
        atMs: random.between(0, 20),
        forMs: 100,
      })),
    expect: { pass: ["belief", "mutex", "effect", "fence-order", "handover", "heal-liveness", "leaks"] },
    check: { handoverLimitMs: leaseMs + besideLeaseMs },
    faults: ["client killed"],
    mode: "ours",
  },
  {
    id: "R03",
    title: "SET NX PX and DEL: a holder that stands still for two leases writes over its successor's work",
    tags: ["smoke", "full"],
    topology: { kind: "redis" },
    keys: { k1: { ...naive, leaseMs: 800 } },
    groups: [
      {
        name: "w",
        count: 3,
        recipe: "naive-key",
        keys: ["k1"],
        holdMs: [100, 150],
        writes: "unfenced",
      },
    ],
    runMs: 1_000,
    plan: () => [
      {
        fault: "worker.pause",
        target: "holder(k1)",
        after: "granted(k1, 3)",
        atMs: 0,
        forMs: 1_600,
        options: { working: true },
      },
    ],
    expect: {
      pass: ["heal-liveness"],
      violation: ["lost-update"],
      report: ["belief", "advertised", "mutex", "effect"],
    },
    check: { minGrants: 12 },
    faults: ["client paused"],
    mode: "naive",
  },
  {
    id: "R03f",
    title: "Fenced: a holder that stands still for two leases is refused by the resource",
    // Its twin with kept locks shows the same in the short run, and more.
    tags: ["full"],
    topology: { kind: "redis" },
    keys: { k1: { ...mutex, leaseMs: 800 } },
    groups: [
      {
        name: "w",
        count: 3,
        recipe: "redis",
        keys: ["k1"],
        holdMs: [100, 150],
        writes: "fenced",
        // It writes on, like a program that checked its lock just before it was stopped.
        options: { heeds: false },
      },
    ],
    runMs: 1_000,
    plan: () => [
      {
        fault: "worker.pause",
        target: "holder(k1)",
        after: "granted(k1, 3)",
        atMs: 0,
        forMs: 1_600,
        options: { working: true },
      },
    ],
    expect: {
      pass: ["effect", "fence-effect", "fence-order", "lost-update", "heal-liveness"],
      // A process that stands still cannot change what it believes.
      report: ["belief", "mutex", "lost-notice"],
      figures: { "fence-effect.rejected": { least: 1 } },
    },
    check: { minGrants: 12 },
    faults: ["client paused"],
    mode: "ours, fenced",
  },
  {
    id: "R04",
    title:
      "Redis without persistence is killed and comes back empty while its holder hears nothing: two holders, and tokens still rise",
    tags: ["full"],
    topology: { kind: "redis", persistence: "none" },
    keys: { k1: { ...mutex, leaseMs: 3_000 } },
    groups: [
      {
        name: "a",
        count: 1,
        recipe: "redis",
        keys: ["k1"],
        holdMs: [2_000, 2_000],
        pauseMs: [100, 200],
        writes: "fenced",
        options: { heeds: false },
        proxied: true,
      },
      { name: "b", count: 2, recipe: "redis", keys: ["k1"], holdMs: [5, 30], writes: "fenced" },
    ],
    runMs: 3_000,
    plan: () => [
      { fault: "redis.forget", target: "redis1", options: { group: "a" }, atMs: 200, forMs: 2_500 },
    ],
    expect: {
      pass: ["effect", "fence-effect", "fence-order", "heal-liveness"],
      violation: ["advertised", "mutex", "belief"],
      report: ["lost-notice"],
      figures: { "fence-effect.rejected": { least: 1 } },
    },
    faults: ["server restarted empty"],
    mode: "ours, fenced",
  },
  {
    id: "R17",
    title:
      "Long holds under CLIENT KILL, resets, SCRIPT FLUSH and lost answers: renewals go on, nothing is lost",
    tags: ["full"],
    topology: { kind: "redis" },
    keys: { k1: { ...mutex, leaseMs: 3_000 }, k2: { ...mutex, leaseMs: 3_000 } },
    groups: [
      {
        name: "w",
        count: 4,
        recipe: "redis",
        keys: ["k1", "k2"],
        holdMs: [1_500, 2_500],
        writes: "fenced",
        proxied: true,
      },
    ],
    runMs: 8_000,
    plan: (random) => [
      {
        fault: "redis.kill-clients",
        target: "redis1",
        atMs: random.between(900, 1_500),
        options: { type: "normal" },
      },
      ...[2_000, 2_300, 2_600, 2_900].map((atMs) => ({ fault: "link.reset", target: "holder(k1)", atMs })),
      { fault: "redis.flush-scripts", target: "redis1", atMs: random.between(3_500, 4_000) },
      { fault: "redis.lose-replies", target: "holder(k1)", atMs: 4_300, forMs: 2_000, options: { times: 3 } },
      { fault: "redis.lose-replies", target: "holder(k2)", atMs: 4_300, forMs: 2_000, options: { times: 3 } },
      {
        fault: "redis.kill-clients",
        target: "redis1",
        atMs: random.between(6_800, 7_300),
        options: { type: "normal" },
      },
    ],
    expect: {
      pass: ["belief", "mutex", "effect", "fence-order", "handover", "heal-liveness", "leaks"],
      figures: { "lost-notice.lost": { most: 0 } },
    },
    // Holds last two seconds, so one of two keys may not be asked for within ten seconds.
    check: { minGrants: 4, healLimitMs: 30_000 },
    faults: ["connections cut", "scripts forgotten", "answers lost"],
    mode: "ours",
  },
  {
    id: "R18",
    title: "Only the subscriptions of waiters are cut: no waiter sleeps beside a free lock",
    tags: ["full"],
    topology: { kind: "redis" },
    keys: { k1: mutex },
    groups: [
      {
        name: "w",
        count: 4,
        recipe: "redis",
        keys: ["k1"],
        holdMs: [20, 60],
        writes: "fenced",
        proxied: true,
      },
    ],
    runMs: 6_000,
    plan: (random) => [
      {
        fault: "redis.kill-clients",
        target: "redis1",
        atMs: random.between(500, 800),
        options: { type: "pubsub" },
      },
      ...[0, 1, 2, 3].map((at) => ({
        fault: "redis.deafen",
        target: `worker(w${at})`,
        atMs: random.between(1_000, 4_000),
        forMs: 1_000,
        options: { how: at % 2 === 0 ? "hole" : "reset" },
      })),
      {
        fault: "redis.kill-clients",
        target: "redis1",
        atMs: random.between(5_000, 5_500),
        options: { type: "pubsub" },
      },
    ],
    expect: {
      pass: ["belief", "mutex", "effect", "fence-order", "handover", "heal-liveness", "leaks"],
      figures: { "lost-notice.lost": { most: 0 } },
    },
    // Faults are on most of the time, but are no excuse here: they only affect the message that wakes a waiter.
    check: { handoverLimitMs: leaseMs + besideLeaseMs, excuses: false },
    faults: ["subscriptions cut"],
    mode: "ours",
  },
];
