import type { Scenario } from "../engine/scenario.js";
import {
  cutOffBeside,
  deafAndAware,
  deafBeside,
  deafen,
  healLimitMs,
  hurried,
  mutex,
  naive,
  sentinels,
  twoMasters,
} from "./redis-groups.js";

/**
 * What a failover does to clients that do not wait for replicas, or are not informed of it. R10: a hand-over without
 * Sentinels.
 */
export const replicatedScenarios: readonly Scenario[] = [
  {
    id: "R05",
    title:
      "Grants wait for no replica: the master is killed before replicas hear of a grant, whose holder hears nothing: two holders",
    tags: ["full"],
    topology: hurried,
    keys: { k1: { ...mutex, leaseMs: 12_000 } },
    groups: cutOffBeside("none"),
    runMs: 3_000,
    plan: () => [{ fault: "redis.kill-behind", atMs: 0, forMs: 1_500, options: { key: "k1", group: "a" } }],
    expect: {
      pass: ["effect", "fence-effect", "fence-order", "heal-liveness"],
      violation: ["advertised", "mutex", "belief"],
      report: ["lost-notice"],
    },
    check: { minGrants: 5, healLimitMs },
    faults: ["master killed, replicas behind"],
    mode: "ours, acks none",
  },
  {
    id: "R06",
    title:
      "A client that follows no Sentinel stays with a master that stood still and was replaced: two holders",
    tags: ["full"],
    topology: sentinels,
    keys: { k1: naive },
    groups: deafAndAware,
    runMs: 1_000,
    plan: () => [
      {
        fault: "redis.freeze-master",
        after: "granted(k1, 10)",
        atMs: 0,
        options: { key: "k1", overlaps: 5 },
      },
    ],
    expect: twoMasters,
    check: { healLimitMs },
    faults: ["master paused, replaced"],
    mode: "naive, no detector",
  },
  {
    id: "R07",
    title:
      "A client that follows no Sentinel stays with the old master after a planned failover: two holders",
    tags: ["smoke", "full"],
    topology: sentinels,
    keys: { k1: naive },
    groups: deafAndAware,
    runMs: 1_000,
    plan: () => [
      { fault: "redis.failover", after: "granted(k1, 10)", atMs: 0, options: { key: "k1", overlaps: 5 } },
    ],
    expect: twoMasters,
    check: { healLimitMs },
    faults: ["planned failover"],
    mode: "naive, no detector",
  },
  {
    id: "R07-ours",
    title:
      "Grants wait for no replica, and a client that cannot hear Sentinels stays with the old master after a planned failover: two holders",
    tags: ["full"],
    topology: sentinels,
    keys: { k1: mutex },
    groups: deafBeside("none"),
    runMs: 1_000,
    plan: () => [
      deafen,
      { fault: "redis.failover", after: "granted(k1, 10)", atMs: 0, options: { key: "k1", overlaps: 5 } },
    ],
    expect: {
      pass: ["effect", "fence-effect", "heal-liveness"],
      violation: ["advertised", "mutex", "belief"],
      report: ["lost-notice", "fence-order"],
    },
    check: { healLimitMs },
    faults: ["planned failover, client deaf to Sentinels"],
    mode: "ours, acks none",
  },
  {
    id: "R07-deaf",
    title:
      "A long hold that is renewed at the old master after a planned failover, unheard by its holder: two holders whatever it waited for",
    tags: ["full"],
    topology: sentinels,
    keys: { k1: mutex },
    groups: [
      ...deafBeside("all", [8_000, 8_000]).slice(0, 1),
      // This group is the worst neighbour: it does not wait for replicas.
      ...deafBeside("none").slice(1),
    ],
    runMs: 1_000,
    plan: () => [
      deafen,
      { fault: "redis.failover", atMs: 0, options: { key: "k1", group: "a", overlaps: 3 } },
    ],
    expect: {
      pass: ["effect", "fence-effect", "heal-liveness"],
      violation: ["advertised", "mutex", "belief"],
      report: ["lost-notice", "fence-order"],
    },
    check: { healLimitMs, minGrants: 5 },
    faults: ["planned failover, long hold, client deaf to Sentinels"],
    mode: "ours, acks all, fenced",
  },
  {
    id: "R10",
    title: "A master hands over to its replica (FAILOVER TO), and its address follows: no hold is lost",
    tags: ["full"],
    topology: { kind: "replicated", replicas: 1, sentinels: 0 },
    keys: { k1: mutex, k2: mutex },
    groups: [
      { name: "w", count: 4, recipe: "redis", keys: ["k1", "k2"], holdMs: [50, 400], writes: "fenced" },
    ],
    runMs: 5_000,
    plan: (random) => [
      { fault: "redis.hand-over", target: "master", after: "granted(k1, 5)", atMs: random.between(0, 200) },
      {
        fault: "redis.hand-over",
        target: "master",
        after: "ended(redis.hand-over)",
        atMs: random.between(1_000, 1_500),
      },
    ],
    expect: {
      pass: [
        "belief",
        "mutex",
        "effect",
        "fence-effect",
        "fence-order",
        "handover",
        "heal-liveness",
        "leaks",
      ],
      figures: { "lost-notice.lost": { most: 0 } },
    },
    check: { minGrants: 10 },
    faults: ["planned failover"],
    mode: "ours",
  },
];
