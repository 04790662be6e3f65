import type { Millis } from "@holdfast/core";

export type Backend = "zookeeper" | "redis";

/**
 * What owners do:
 *
 * - `loop`: each acquires and releases again and again. With a lock for each owner, none waits, and the latency is that
 *   of a pair. With fewer locks than owners it is that of a hand-off, from the call of a release to the grant of
 *   another owner.
 * - `queue`: all call acquire behind a holder. Once they stand in the queue, it drains. Only the draining is measured.
 * - `idle`: all call acquire behind a holder. What they cost is measured while they wait.
 */
export type WorkloadKind = "loop" | "queue" | "idle";

/** One row of the measurement. */
export interface Workload {
  readonly name: string;
  readonly what: string;
  readonly kind: WorkloadKind;
  /**
   * Sessions or connections, which owners share in turn. The holder of a queue or of idle waiters uses the first one.
   */
  readonly clients: number;
  /** How many owners loop or wait. The holder of a queue is not among them. */
  readonly owners: number;
  readonly locks: number;
  /** How long loops run, or how long idle waiters are measured. A queue takes as long as it needs. */
  readonly forMs: Millis;
  /** The number of queues that drain in one round, one after the other. */
  readonly drains: number;
  /** What is added to the time of the way to the server and back. */
  readonly roundTripMs: Millis;
  /** The peers that run it; if left out, all. The other peers would say nothing here, or would take hours. */
  readonly only?: readonly string[];
}

const base = { clients: 1, owners: 1, locks: 1, forMs: 1_500, drains: 1, roundTripMs: 0 };
const ours = ["holdfast", "shortest"];
const keeping = ["Curator", "redis-semaphore", "holdfast", "holdfast+keepMs"];

function crowd(owners: number, forMs: Millis): Workload {
  const what = `${owners} owners on one lock, each with a session or connection of its own, empty section, again at once`;
  return { ...base, name: `crowd-${owners}`, what, kind: "loop", clients: owners, owners, forMs };
}

/**
 * Our lock is kept only for an owner that takes it twice in a row. This row shows that the option costs a crowd
 * nothing.
 */
function keptCrowd(owners: number): Workload {
  const what = `${owners} owners on one lock as in \`crowd-16\`, and ours may keep it (\`keepMs\`)`;
  return { ...crowd(owners, 1_500), name: `kept-${owners}`, what, only: keeping };
}

function handOff(owners: number): Workload {
  const what = `${owners === 1 ? "one waiter" : `${owners} waiters`} of one process and client behind a holder, drained`;
  // Shorter queues are drained more often.
  const drains = Math.max(1, Math.min(20, Math.floor(500 / owners)));
  return { ...base, name: `hand-off-${owners}`, what, kind: "queue", owners, drains, only: ours };
}

/** All rows, in the order in which they are measured. */
export const workloads: readonly Workload[] = [
  { ...base, name: "pair", what: "1 owner, 1 lock, no other client: acquire and release", kind: "loop" },
  {
    ...base,
    name: "pair-kept",
    what: "as `pair`, and ours keeps the lock for its next owner (`keepMs`)",
    kind: "loop",
    only: keeping,
  },
  {
    ...base,
    name: "pairs-64",
    what: "64 locks in one process, over one session or connection, a loop each",
    kind: "loop",
    owners: 64,
    locks: 64,
  },
  crowd(16, 1_500),
  // A slow peer needs this time to give more grants than there are owners.
  crowd(128, 3_000),
  keptCrowd(2),
  keptCrowd(16),
  {
    ...base,
    name: "queue-200",
    what: "200 owners, each with a session or connection of its own, stand behind a holder; the queue drains",
    kind: "queue",
    clients: 201,
    owners: 200,
    drains: 5,
  },
  {
    ...base,
    name: "idle-200",
    what: "200 owners, each with a session or connection of its own, wait behind a holder that keeps the lock",
    kind: "idle",
    clients: 201,
    owners: 200,
    forMs: 4_000,
  },
  {
    ...base,
    name: "idle-5000",
    what: "5,000 waiters of one process and client on one name behind a holder that keeps the lock",
    kind: "idle",
    owners: 5_000,
    forMs: 5_000,
    only: [...ours, "Redisson"],
  },
  {
    ...base,
    name: "pair-far",
    what: "1 owner, 1 lock, and 10 ms more for the way to the server and back",
    kind: "loop",
    roundTripMs: 10,
  },
  ...[1, 10, 100, 1_000, 10_000].map(handOff),
];

/**
 * The heap of our library at 100,000 holds and waiters. It is chosen like a workload, but no process of a peer runs it.
 */
export const heapRow = "heap";

/** A workload small enough for a test of the command. Its figures say nothing. */
export function quick(workload: Workload): Workload {
  const owners = Math.min(workload.owners, 8);
  return {
    ...workload,
    owners,
    clients: Math.min(workload.clients, owners + 1),
    locks: Math.min(workload.locks, owners),
    forMs: 100,
    drains: 1,
  };
}
