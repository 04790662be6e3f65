import type { KeySpec, Scenario, WorkerGroup } from "../engine/scenario.js";

const sessionMs = 6_000;
const node: KeySpec = {
  kind: "mutex",
  backend: "zookeeper",
  fair: true,
  fenced: true,
  leaseMs: sessionMs,
};

/** Long enough that a JVM which waits for the processor still renews in time. */
const leaseMs = 3_000;

const both = (theirs: string, ours: string, common: Omit<WorkerGroup, "name" | "count" | "recipe">) => [
  { name: "n", count: 2, recipe: ours, ...common },
  { name: "j", count: 2, recipe: theirs, ...common },
];

/** Our clients and the Java libraries with the same layouts, at the same locks. */
export const javaScenarios: readonly Scenario[] = [
  {
    id: "Z16",
    title: "Ours and Apache Curator at the same locks while the leader is killed and sessions are ended",
    tags: ["full"],
    topology: { kind: "zookeeper", members: 3 },
    needs: ["curator"],
    keys: {
      k1: node,
      k2: node,
      rw: { kind: "read-write", backend: "zookeeper", fenced: true, leaseMs: sessionMs },
    },
    groups: both("curator", "zookeeper", {
      keys: ["k1", "k2", "rw"],
      contenders: 2,
      holdMs: [10, 40],
      writes: "fenced",
      proxied: true,
    }),
    runMs: 9_000,
    plan: (random) => [
      { fault: "zk.session-kill", target: "worker(j0)", after: "granted(k1, 20)", atMs: 100 },
      { fault: "zk.session-kill", target: `holder(${random.pick(["k1", "k2"])})`, atMs: 2_000 },
      { fault: "zk.kill", target: "leader", after: "ended(zk.session-kill, 2)", atMs: 500, forMs: 1_000 },
      { fault: "zk.session-kill", target: "worker(n0)", after: "ended(zk.kill)", atMs: 1_500 },
      { fault: "zk.session-kill", target: "worker(j1)", after: "ended(zk.session-kill, 3)", atMs: 500 },
      { fault: "zk.session-kill", target: "holder(k1)", after: "ended(zk.session-kill, 4)", atMs: 500 },
    ],
    expect: {
      pass: ["fence-order", "fence-effect", "effect", "handover", "heal-liveness", "leaks", "stats"],
      // When a session is ended at the server, its successor may be granted before the owner can know. Curator notices
      // the end when it has connected anew, within a second or two. It does not report that one of its clients stands
      // at the end of a queue again.
      report: ["belief", "advertised", "mutex", "rw", "lost-notice", "lost-update", "fifo"],
      figures: { "fifo.judged": { least: 10 } },
    },
    faults: ["leader killed", "session ended at the server"],
    mode: "ours with Curator, fenced",
  },
  {
    id: "R21",
    title:
      "Ours and Redisson at the same locks while workers of both are killed and the server forgets scripts",
    tags: ["full"],
    topology: { kind: "redis" },
    needs: ["java", "redisson"],
    keys: {
      k1: { kind: "mutex", backend: "redis", fenced: true, leaseMs },
      // Redisson's read-write lock has no tokens.
      rw: { kind: "read-write", backend: "redis", leaseMs },
    },
    groups: both("redisson", "redis", {
      keys: ["k1", "rw"],
      contenders: 2,
      holdMs: [5, 30],
      writes: "unfenced",
    }),
    runMs: 9_000,
    plan: (random) => [
      {
        fault: "redis.flush-scripts",
        target: "redis1",
        after: "granted(k1, 10)",
        atMs: random.between(0, 500),
      },
      { fault: "worker.kill", target: "worker(j0)", after: "granted(k1, 20)", atMs: 500, forMs: 200 },
      { fault: "worker.kill", target: "holder(k1)", after: "ended(worker.kill, 1)", atMs: 1_000, forMs: 200 },
      { fault: "redis.flush-scripts", target: "redis1", after: "begun(worker.kill, 2)", atMs: 300 },
      { fault: "worker.kill", target: "worker(j1)", after: "ended(worker.kill, 2)", atMs: 300, forMs: 200 },
      { fault: "worker.kill", target: "holder(rw)", after: "ended(worker.kill, 3)", atMs: 1_000, forMs: 200 },
    ],
    expect: {
      pass: [
        "belief",
        "advertised",
        "mutex",
        "rw",
        "effect",
        "lost-update",
        "fence-order",
        "handover",
        "heal-liveness",
        "leaks",
      ],
      figures: { "lost-notice.judged": { most: 0 } },
    },
    check: { handoverLimitMs: leaseMs + 2_500 },
    faults: ["client killed", "scripts forgotten"],
    mode: "ours with Redisson",
  },
];
