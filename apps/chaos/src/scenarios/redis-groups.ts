import type { Expectation, KeySpec, PlannedFault, Topology, WorkerGroup } from "../engine/scenario.js";

const leaseMs = 3_000;
export const mutex: KeySpec = { kind: "mutex", backend: "redis", fenced: true, leaseMs };
/** Short: what a client gave up waiting for may have been done all the same, and then the lock has no holder for a lease. */
export const naive: KeySpec = { kind: "naive", backend: "redis", leaseMs: 1_000 };

export const sentinels: Topology = { kind: "replicated", replicas: 2, sentinels: 3 };
/** Whole again soon after a failover. */
export const hurried = { kind: "replicated", replicas: 2, sentinels: 3, hurried: true } as const;

/** A stays with the master that it knows; B follows Sentinels. */
export const deafAndAware: readonly WorkerGroup[] = [
  { name: "a", count: 2, recipe: "naive-key", keys: ["k1"], holdMs: [20, 60], writes: "unfenced" },
  {
    name: "b",
    count: 2,
    recipe: "naive-key",
    keys: ["k1"],
    holdMs: [20, 60],
    writes: "unfenced",
    options: { detector: true },
  },
];
export const twoMasters: Expectation = {
  pass: ["heal-liveness"],
  violation: ["mutex"],
  report: ["belief", "advertised", "effect", "lost-update"],
};

/** Every grant at all replicas before it is one, and tokens for the resource. */
const safe = { acks: "all", waitTimeoutMs: 500 } as const;
export const safely = (count: number, holdMs: readonly [number, number]): WorkerGroup => ({
  name: "w",
  count,
  recipe: "redis",
  keys: ["k1", "k2"],
  holdMs,
  writes: "fenced",
  options: safe,
});

export const safePass: Expectation = {
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
};

/**
 * A holds for long and is cut off with its grant; B takes turns. With pauses, so that there are moments without a holder:
 * the fault waits for one. The hold of A lasts until a replica was promoted and B was granted there: Sentinels that have to vote a second
 * time take five seconds and more.
 */
export const cutOffBeside = (acks: "none" | "all"): WorkerGroup[] => {
  const common = { recipe: "redis", keys: ["k1"], pauseMs: [200, 500], writes: "fenced" } as const;
  const options = { acks, waitTimeoutMs: 500 };
  return [
    // It writes on like a program that had looked just before.
    {
      name: "a",
      count: 1,
      holdMs: [10_000, 10_000],
      proxied: true,
      options: { ...options, heeds: false },
      ...common,
    },
    { name: "b", count: 2, holdMs: [5, 30], options, ...common },
  ];
};

/** A hears no Sentinel, so that it stays with a master that was replaced; what it holds is short against the lease. */
export const deafBeside = (
  acks: "none" | "all",
  holdMs: readonly [number, number] = [20, 100],
): WorkerGroup[] => {
  const common = {
    recipe: "redis",
    keys: ["k1"],
    writes: "fenced",
    options: { acks, waitTimeoutMs: 500 },
  } as const;
  return [
    { name: "a", count: 1, holdMs, pauseMs: [20, 60], proxied: true, ...common },
    { name: "b", count: 2, holdMs: [20, 100], pauseMs: [20, 60], ...common },
  ];
};
export const deafen: PlannedFault = {
  fault: "redis.unreach",
  target: "worker(a0)",
  atMs: 0,
  options: { servers: "sentinel", mode: "hole" },
};

/** No grant while a replica is away: it comes back when Sentinels have reached the old master. */
export const healLimitMs = 30_000;
