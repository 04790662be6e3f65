import type { Expectation, KeySpec, PlannedFault, Topology, WorkerGroup } from "../engine/scenario.js";

const leaseMs = 3_000;
export const mutex: KeySpec = { kind: "mutex", backend: "redis", fenced: true, leaseMs };
/**
 * A short lease. An operation on which a client gave up may still have been executed, and then the lock has no holder
 * for a lease.
 */
export const naive: KeySpec = { kind: "naive", backend: "redis", leaseMs: 1_000 };

export const sentinels: Topology = { kind: "replicated", replicas: 2, sentinels: 3 };
/** A topology that is whole again soon after a failover. */
export const hurried = { kind: "replicated", replicas: 2, sentinels: 3, hurried: true } as const;

/** Clients A stay with the master that they know. Clients B follow the Sentinels. */
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

/** Grants count only when all replicas have them, and the resource checks tokens. */
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
 * A holds for long and is cut off with its grant; B takes turns. Both pause between holds, so that there are moments
 * without a holder, for one of which the fault waits. A's hold lasts until a replica was promoted and B was granted
 * there: Sentinels that have to vote a second time take five seconds and more.
 */
export const cutOffBeside = (acks: "none" | "all"): WorkerGroup[] => {
  const common = { recipe: "redis", keys: ["k1"], pauseMs: [200, 500], writes: "fenced" } as const;
  const options = { acks, waitTimeoutMs: 500 };
  return [
    // A writes on, like a program that checked its lock just before.
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

/** A has no contact with Sentinels, so it stays with a master that was replaced. Its holds are short compared with the lease. */
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

/** No lock is granted while a replica is away. It comes back when Sentinels have reached the old master. */
export const healLimitMs = 30_000;
