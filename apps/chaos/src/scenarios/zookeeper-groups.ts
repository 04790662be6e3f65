import type { CheckerName } from "../checkers/judge.js";
import type { KeySpec, PlannedFault, Topology, WorkerGroup } from "../engine/scenario.js";

export const one: Topology = { kind: "zookeeper", members: 1 };
export const three: Topology = { kind: "zookeeper", members: 3 };

export const mutex = (leaseMs: number): KeySpec => ({
  kind: "mutex",
  backend: "zookeeper",
  fair: true,
  fenced: true,
  leaseMs,
});
export const sharedKeys = (leaseMs: number): Readonly<Record<"m" | "rw" | "s", KeySpec>> => ({
  m: mutex(leaseMs),
  rw: { kind: "read-write", backend: "zookeeper", fenced: true, leaseMs },
  s: { kind: "semaphore", backend: "zookeeper", limit: 2, leaseMs },
});

export const ours = (
  name: string,
  count: number,
  keys: readonly string[],
  more: Partial<WorkerGroup> = {},
): WorkerGroup => ({
  name,
  count,
  recipe: "zookeeper",
  keys,
  holdMs: [5, 30],
  writes: "unfenced",
  ...more,
});

/** Two contenders in each of the four workers. With a contender for each kind of lock they would wait for each other's turn. */
export const sharers: readonly WorkerGroup[] = [
  ours("w", 4, ["m", "rw", "s"], { contenders: 2, options: { permits: 2 } }),
];

/** The checkers that must pass if the server ends no session before its owner can know. */
export const safe: readonly CheckerName[] = [
  "belief",
  "advertised",
  "mutex",
  "effect",
  "fence-order",
  "lost-update",
  "lost-notice",
  "handover",
  "heal-liveness",
  "leaks",
  "stats",
];

/** The checkers that must pass even if the server ends sessions before their owners can know. */
export const fencedOff: readonly CheckerName[] = [
  "fence-order",
  "fence-effect",
  "heal-liveness",
  "handover",
  "leaks",
  "stats",
];

export const repeated = (times: number, fault: (at: number) => PlannedFault): PlannedFault[] =>
  Array.from({ length: times }, (_, at) => fault(at));
