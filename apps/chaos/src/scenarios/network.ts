import type { CheckerName } from "../checkers/judge.js";
import type { KeySpec, PlannedFault, Scenario, WorkerGroup } from "../engine/scenario.js";

const apart = { kind: "zookeeper", members: 3, namespaces: true } as const;
const sentinels = { kind: "replicated", replicas: 2, sentinels: 3, hurried: true, namespaces: true } as const;

const onZooKeeper = (leaseMs: number): KeySpec => ({
  kind: "mutex",
  backend: "zookeeper",
  fair: true,
  fenced: true,
  leaseMs,
});
/** The follower keeps its clients for six seconds, three to four times as long as their sessions last. */
const patient = { ...apart, syncLimit: 12 } as const;
const longHolders: readonly WorkerGroup[] = [
  {
    name: "h",
    count: 3,
    recipe: "zookeeper",
    keys: ["k1"],
    holdMs: [2_200, 2_500],
    writes: "fenced",
    proxied: true,
  },
];
const holderCut: PlannedFault = {
  fault: "net.cut-holder",
  target: "holder(k1)",
  after: "granted(k1, 1)",
  atMs: 100,
  forMs: 8_000,
};
const onRedis: KeySpec = { kind: "mutex", backend: "redis", fenced: true, leaseMs: 2_000 };

const safe: readonly CheckerName[] = [
  "belief",
  "advertised",
  "mutex",
  "effect",
  "fence-order",
  "lost-notice",
  "handover",
  "heal-liveness",
  "leaks",
];

const sides: readonly WorkerGroup[] = [
  { name: "a", count: 2, recipe: "redis", keys: ["k1"], holdMs: [20, 60], writes: "fenced", proxied: true },
  { name: "b", count: 2, recipe: "redis", keys: ["k1"], holdMs: [20, 60], writes: "fenced", proxied: true },
];

/** The master and `a` are on one side; two replicas, two Sentinels and `b` are on the other. */
const twoSides = (forMs: number): PlannedFault[] => [
  {
    fault: "net.sides",
    target: "master",
    after: "granted(k1, 10)",
    atMs: 300,
    forMs,
    options: { near: "a", far: "b" },
  },
];

/** Faults that only lost packets can show: servers with addresses of their own are cut off from each other. */
export const networkScenarios: readonly Scenario[] = [
  {
    id: "Z08",
    title:
      "The leader is cut off, a follower is, the leader with its clients is, packets go round one way only: nothing is granted twice",
    tags: ["full"],
    topology: apart,
    keys: {
      m: onZooKeeper(6_000),
      rw: { kind: "read-write", backend: "zookeeper", fenced: true, leaseMs: 6_000 },
      s: { kind: "semaphore", backend: "zookeeper", limit: 2, leaseMs: 6_000 },
    },
    groups: [
      {
        name: "w",
        count: 4,
        recipe: "zookeeper",
        keys: ["m", "rw", "s"],
        contenders: 2,
        holdMs: [5, 30],
        writes: "unfenced",
        options: { permits: 2 },
      },
    ],
    runMs: 36_000,
    plan: (random) => [
      { fault: "net.cut", target: "leader", atMs: 1_000, forMs: 4_000 },
      { fault: "net.cut", target: "follower", after: "ended(net.cut)", atMs: 1_500, forMs: 3_000 },
      { fault: "net.isolate", target: "leader", after: "ended(net.cut, 2)", atMs: 1_500, forMs: 4_000 },
      { fault: "net.ring", after: "ended(net.isolate)", atMs: 1_500, forMs: random.between(2_500, 4_000) },
      { fault: "net.halves", after: "ended(net.ring)", atMs: 1_500, forMs: random.between(2_500, 4_000) },
      {
        fault: "net.bridge",
        target: "follower",
        after: "ended(net.halves)",
        atMs: 1_500,
        forMs: random.between(2_500, 4_000),
      },
    ],
    expect: { pass: [...safe, "lost-update", "rw", "permits"] },
    faults: ["leader cut off", "follower cut off", "leader isolated", "one-way ring", "halves", "bridge"],
    mode: "ours",
  },
  {
    id: "Z08b",
    title:
      "The holder and the follower with its session are cut from the leader for longer than the session: it knows before the next is granted",
    tags: ["full"],
    topology: patient,
    keys: { k1: onZooKeeper(1_500) },
    groups: longHolders,
    runMs: 13_000,
    plan: () => [{ ...holderCut, options: { along: true } }],
    expect: {
      pass: [...safe, "fence-effect"],
      figures: { "lost-notice.judged": { least: 1 }, "lost-notice.smallestMarginMs": { least: 0.001 } },
    },
    check: { minGrants: 4 },
    faults: ["follower and holder cut off"],
    mode: "ours",
  },
  {
    id: "Z08b-moves",
    title:
      "The follower with the holder's session is cut from its leader, the holder is not: it notices and takes its session elsewhere",
    tags: ["full"],
    topology: patient,
    keys: { k1: onZooKeeper(2_000) },
    groups: longHolders,
    runMs: 8_000,
    plan: () => [{ ...holderCut, forMs: 5_000 }],
    expect: { pass: [...safe, "fence-effect"], figures: { "lost-notice.judged": { most: 0 } } },
    check: { minGrants: 4 },
    faults: ["follower cut off, holder on it"],
    mode: "ours",
  },
  {
    id: "R09",
    title:
      "Grants wait for no replica: the master is cut off with half of the clients, a replica takes over for the others: two holders",
    tags: ["full"],
    topology: sentinels,
    keys: { k1: onRedis },
    groups: sides,
    runMs: 7_000,
    plan: () => twoSides(5_000),
    expect: {
      pass: ["effect", "fence-effect", "heal-liveness"],
      violation: ["mutex", "belief"],
      report: ["advertised", "lost-notice", "fence-order", "handover", "leaks"],
    },
    check: { healLimitMs: 30_000 },
    faults: ["master cut off with clients"],
    mode: "ours, acks none",
  },
  {
    id: "R09-safe",
    title:
      "Grants wait for all replicas: the master is cut off with half of the clients, who are granted nothing any more",
    tags: ["full"],
    topology: sentinels,
    keys: { k1: onRedis },
    groups: sides.map((group) => ({ ...group, options: { acks: "all", waitTimeoutMs: 500 } })),
    runMs: 7_000,
    plan: () => twoSides(5_000),
    expect: {
      pass: [
        "belief",
        "advertised",
        "mutex",
        "effect",
        "fence-effect",
        "fence-order",
        "lost-notice",
        "heal-liveness",
        "leaks",
      ],
    },
    check: { healLimitMs: 30_000 },
    faults: ["master cut off with clients"],
    mode: "ours, acks all, fenced",
  },
];
