import type { Expectation, PlannedFault, Scenario, WorkerGroup } from "../engine/scenario.js";

const redlock = { kind: "redlock", backend: "redlock", leaseMs: 2_000 } as const;

/** A reaches three of the five masters, and holds for long; B reaches all of them. */
const lopsided = (options: WorkerGroup["options"], holdMs: number): WorkerGroup[] => [
  {
    name: "a",
    count: 1,
    recipe: "redlock",
    keys: ["k1"],
    holdMs: [holdMs, holdMs],
    pauseMs: [20, 50],
    proxied: true,
    ...(options && { options }),
  },
  {
    name: "b",
    count: 2,
    recipe: "redlock",
    keys: ["k1"],
    holdMs: [5, 20],
    pauseMs: [50, 150],
    ...(options && { options }),
  },
];

/** A holds by the first three masters and is then cut off; the third master forgets. */
const relapse = (forMs: number, options: Readonly<Record<string, string | number>> = {}): PlannedFault[] => [
  { fault: "redis.unreach", target: "worker(a0)", atMs: 0, options: { servers: "redis4,redis5" } },
  {
    fault: "redis.forget",
    target: "redis3",
    after: "begun(redis.unreach)",
    atMs: 100,
    forMs,
    options: { group: "a", ...options },
  },
];

const twice: Expectation = {
  pass: ["heal-liveness"],
  violation: ["advertised", "mutex", "belief"],
  report: ["lost-notice"],
};
/**
 * The holder is cut off, so it knows of its loss only by its own deadline, at which its promise ends. On a busy machine
 * that timer may be late. Its process then believes in the hold for longer, which is not a fault of the lock.
 */
const never: Expectation = {
  pass: ["advertised", "heal-liveness", "leaks"],
  report: ["belief", "mutex", "lost-notice"],
  figures: { "belief.longestOverlapMs": { most: 1_000 } },
};
const check = { minGrants: 5 };

/** RedLock over five independent masters. */
export const mastersScenarios: readonly Scenario[] = [
  {
    id: "R11",
    title:
      "RedLock without the guard: one of the three masters that granted comes back empty, and a second client is granted",
    tags: ["smoke", "full"],
    topology: { kind: "masters", count: 5, persistence: "none" },
    keys: { k1: { ...redlock, leaseMs: 4_000 } },
    groups: lopsided({ restartGuard: false }, 2_000),
    runMs: 1_500,
    plan: () => relapse(1_500),
    expect: twice,
    check,
    faults: ["server restarted empty"],
    mode: "ours, RedLock, no guard",
  },
  {
    id: "R11-rdb",
    title:
      "RedLock without the guard: a master with save points alone is killed and comes back, and a second client is granted",
    tags: ["full"],
    topology: { kind: "masters", count: 5, persistence: "rdb" },
    keys: { k1: { ...redlock, leaseMs: 4_000 } },
    groups: lopsided({ restartGuard: false }, 2_000),
    runMs: 1_500,
    plan: () => relapse(1_500),
    expect: twice,
    check,
    faults: ["server restarted empty"],
    mode: "ours, RedLock, no guard",
  },
  {
    id: "R11-guard",
    title:
      "RedLock with the guard: a master that came back empty sits out the longest lease, and no lock is granted twice",
    tags: ["full"],
    topology: { kind: "masters", count: 5, persistence: "none" },
    keys: { k1: redlock },
    groups: lopsided({}, 2_500),
    runMs: 3_000,
    plan: () => relapse(3_000),
    expect: never,
    check,
    faults: ["server restarted empty"],
    mode: "ours, RedLock",
  },
  {
    id: "R12",
    title:
      "RedLock on durable masters: one is killed and comes back with everything, and no lock is granted twice",
    // In the short run, R11 does the same to the same client.
    tags: ["full"],
    topology: { kind: "masters", count: 5, persistence: "aof-always" },
    keys: { k1: { ...redlock, leaseMs: 1_200 } },
    groups: lopsided({ restartGuard: false, durable: true }, 1_500),
    runMs: 2_000,
    plan: () => relapse(1_500),
    expect: never,
    check,
    faults: ["server restarted"],
    mode: "ours, RedLock, durable",
  },
  {
    id: "R12-late",
    title: "RedLock without the guard: an empty master that comes back after the longest lease does no harm",
    tags: ["full"],
    topology: { kind: "masters", count: 5, persistence: "none" },
    keys: { k1: redlock },
    groups: lopsided({ restartGuard: false }, 2_500),
    runMs: 3_500,
    plan: () => relapse(500, { afterMs: redlock.leaseMs + 100 }),
    expect: never,
    check,
    faults: ["server restarted empty, late"],
    mode: "ours, RedLock, no guard",
  },
  {
    id: "R13",
    title:
      "RedLock without the guard: a power failure cuts the end of a master's append-only file, and a second client is granted",
    tags: ["full"],
    topology: { kind: "masters", count: 5, persistence: "aof-everysec" },
    keys: { k1: { ...redlock, leaseMs: 4_000 } },
    groups: lopsided({ restartGuard: false }, 2_000),
    runMs: 1_500,
    plan: () => relapse(1_500, { how: "tail" }),
    expect: twice,
    check,
    faults: ["append-only file cut"],
    mode: "ours, RedLock, no guard",
  },
  {
    id: "R13-stale",
    title:
      "RedLock without the guard: a stale replica takes a master's place, and a second client is granted",
    tags: ["full"],
    topology: { kind: "masters", count: 5, persistence: "none" },
    keys: { k1: { ...redlock, leaseMs: 4_000 } },
    groups: lopsided({ restartGuard: false }, 2_000),
    runMs: 1_500,
    plan: () => relapse(1_500, { how: "stale" }),
    expect: twice,
    check,
    faults: ["stale replica promoted"],
    mode: "ours, RedLock, no guard",
  },
  {
    id: "R14",
    title:
      "RedLock: two of five masters killed, later two frozen: the other three go on, and no lock is granted twice",
    tags: ["full"],
    topology: { kind: "masters", count: 5, persistence: "none" },
    keys: { k1: redlock, k2: redlock },
    groups: [
      { name: "w", count: 4, recipe: "redlock", keys: ["k1", "k2"], holdMs: [5, 30], pauseMs: [5, 30] },
    ],
    runMs: 6_000,
    plan: () => [
      {
        fault: "redis.outage",
        target: "redis1,redis4",
        after: "granted(k1, 15)",
        atMs: 0,
        options: { how: "kill", keys: "k1,k2", grants: 20 },
      },
      // The killed masters first sit out a lease, as if they were still away.
      {
        fault: "redis.outage",
        target: "redis2,redis5",
        after: "ended(redis.outage)",
        atMs: redlock.leaseMs + 1_000,
        options: { how: "pause", keys: "k1,k2", grants: 20 },
      },
    ],
    expect: { pass: ["belief", "advertised", "mutex", "lost-notice", "handover", "heal-liveness", "leaks"] },
    faults: ["two of five killed", "two of five frozen"],
    mode: "ours, RedLock",
  },
];
