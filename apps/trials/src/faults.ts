import { createHash } from "node:crypto";
import type { PlannedFault, Scenario, Topology, WorkerGroup } from "@holdfast/chaos";
import type { Family, Subject } from "./subjects.js";

export const leaseMs = 2_000;

/** What a lock can be convicted of, the worst first. */
export const charges = ["damage", "two holders", "tokens", "told late", "stuck"] as const;
export type Charge = (typeof charges)[number];

/** What is done to servers or clients. */
export interface Fault {
  readonly id: string;
  readonly words: string;
  /** The charges that no lock can avoid under this fault, each with the reason. */
  readonly excuses: Readonly<Partial<Record<Charge, string>>>;
  /** The run with one subject. If the fault does not fit the subject, a text that says why. */
  of(subject: Subject): Trial | string;
}

/** The parts of a scenario that differ from one fault to the next. */
export interface Trial {
  readonly topology: Topology;
  readonly groups: readonly Omit<WorkerGroup, "recipe" | "keys" | "writes">[];
  readonly plan: readonly PlannedFault[];
  readonly runMs: number;
  readonly leaseMs?: number;
  readonly check?: Scenario["check"];
  /** Workers write nothing: the run measures how fast the lock changes hands. */
  readonly noWrites?: true;
}

/**
 * A short hash that distinguishes trials in the results: what is run, and what decides of which charges a run may
 * convict.
 */
export const digestOf = (
  { excuses }: Pick<Fault, "excuses">,
  trial: Trial,
  { options, replicatedOptions, provides }: Subject,
): string =>
  createHash("sha256")
    .update(JSON.stringify({ trial, excuses, options, replicatedOptions, provides }))
    .digest("hex")
    .slice(0, 8);

const one: Readonly<Record<Family, Topology>> = {
  redis: { kind: "redis" },
  masters: { kind: "masters", count: 5 },
  zookeeper: { kind: "zookeeper", members: 1 },
  etcd: { kind: "other", name: "etcd" },
  postgresql: { kind: "other", name: "postgresql" },
};

/** The same servers with everything that they acknowledge on disk. The servers other than Redis always work so. */
const durable: Readonly<Record<Family, Topology>> = {
  ...one,
  redis: { kind: "redis", persistence: "aof-always" },
  masters: { kind: "masters", count: 5, persistence: "aof-always" },
};

const three = { name: "w", count: 3, holdMs: [100, 150] } as const;
const few = { minGrants: 4 };

/**
 * Longer than a lease if the subject renews, so that a loss has to be reported. Shorter if a hold ends with its lease.
 */
const long = ({ renews }: Subject): readonly [number, number] => (renews ? [3_000, 3_500] : [1_000, 1_200]);

const atHolder = (fault: string, more: Partial<PlannedFault> = {}): PlannedFault => ({
  fault,
  target: "holder(k1)",
  after: "granted(k1, 3)",
  atMs: 0,
  ...more,
});

export const faults: readonly Fault[] = [
  {
    id: "none",
    words: "nothing is broken: 64 wait behind one holder",
    excuses: {},
    of: ({ family }) => ({
      topology: one[family],
      groups: [{ name: "w", count: 5, contenders: 13, holdMs: [1, 2], pauseMs: [0, 0] }],
      plan: [],
      runMs: 8_000,
      check: { healLimitMs: 60_000 },
      noWrites: true,
    }),
  },
  {
    id: "pause",
    words: "the holder stands still for two leases, and writes on without looking",
    excuses: {
      "two holders": "a stopped process cannot change its belief",
      "told late": "a stopped process cannot be notified",
    },
    of: ({ family }) => ({
      topology: one[family],
      // The worker writes on, like a program that checked its lock just before it was stopped.
      groups: [{ ...three, options: { heeds: false } }],
      plan: [atHolder("worker.pause", { forMs: 2 * leaseMs, options: { working: true } })],
      runMs: 1_000,
      check: { minGrants: 8 },
    }),
  },
  {
    id: "cut",
    words: "nothing passes between holder and servers for two and a half leases",
    excuses: {},
    of: (subject) => ({
      topology: one[subject.family],
      groups: [{ ...three, holdMs: long(subject), proxied: true }],
      plan: [atHolder("link.hole", { after: "granted(k1, 2)", atMs: 300, forMs: 2.5 * leaseMs })],
      runMs: 7_000,
      check: few,
    }),
  },
  {
    id: "late",
    words: "what the servers answer to a waiter comes one and a half leases late, twice",
    excuses: {},
    of: ({ family }) => ({
      topology: one[family],
      groups: [{ ...three, proxied: true }],
      plan: ["granted(k1, 3)", "ended(link.stall-down)"].map((after) =>
        atHolder("link.stall-down", { target: "waiter(k1)", after, atMs: 200, forMs: 1.5 * leaseMs }),
      ),
      runMs: 7_000,
      check: { minGrants: 8 },
    }),
  },
  {
    id: "restart",
    words: "a server is killed and starts again with all that it had acknowledged",
    excuses: {},
    of: ({ family }) => ({
      topology: durable[family],
      groups: [{ ...three, holdMs: [1_000, 1_200] }],
      plan: [
        {
          ...killOf[family],
          after: "granted(k1, 2)",
          atMs: 300,
          forMs: 300,
        },
      ],
      runMs: 5_000,
      check: few,
    }),
  },
  {
    id: "empty",
    words: "a server is killed and comes back with nothing; a single one six times",
    excuses: {},
    of(subject) {
      if (subject.family === "masters") return oneOfThreeForgets;
      if (subject.family !== "redis")
        return "it keeps on disk what it acknowledges, and has no mode in which it does not";
      return {
        topology: one.redis,
        groups: [{ ...three, holdMs: long(subject) }],
        // Whether the holder or a waiter is heard first afterwards is a matter of milliseconds, so it is tried several times.
        plan: [1, 2, 3, 4, 5, 6].map((nth) => ({
          ...{ fault: "redis.empty", target: "redis1" },
          ...(nth === 1
            ? { after: "granted(k1, 2)", atMs: 300 }
            : { after: `ended(redis.empty, ${nth - 1})`, atMs: 1_500 }),
        })),
        runMs: 12_000,
        check: few,
      };
    },
  },
  {
    id: "failover",
    words: "the master or leader is killed; on Redis before its replicas have heard of a grant",
    excuses: {},
    of(subject) {
      switch (subject.family) {
        case "redis":
          return subject.provides.servers.includes("replicated")
            ? masterDies(subject)
            : "its worker here knows a single server";
        case "zookeeper":
          return {
            topology: { kind: "zookeeper", members: 3 },
            groups: [{ ...three, holdMs: [300, 500] }],
            plan: [{ fault: "zk.kill", target: "leader", after: "granted(k1, 3)", atMs: 200, forMs: 1_500 }],
            runMs: 6_000,
            // The session time-out is longer than an election, so the election ends no session.
            leaseMs: 6_000,
            check: { minGrants: 8 },
          };
        case "masters":
          return "independent masters have no failover";
        default:
          return "a single server is run here";
      }
    },
  },
  {
    id: "session",
    words: "the holder's session is ended at the server, six times",
    excuses: {
      "two holders":
        "the successor may be granted before the news can arrive; 800 ms are given, in which each lock renews",
    },
    of({ family }) {
      if (family === "redis" || family === "masters") return "Redis has no sessions";
      const fault = family === "zookeeper" ? "zk.session-kill" : "session.end";
      return {
        topology: one[family],
        // A short hold writes soon after the end, a long one has to be told.
        groups: [
          { name: "s", count: 2, holdMs: [150, 160], proxied: true },
          { name: "l", count: 2, holdMs: [900, 1_000], proxied: true },
        ],
        plan: [1, 2, 3, 4, 5, 6].map((nth) =>
          atHolder(fault, { after: `granted(k1, ${3 * nth})`, atMs: 100 }),
        ),
        runMs: 12_000,
        check: { minGrants: 8, lostLateMs: 800 },
      };
    },
  },
  {
    id: "client-clock",
    words: "the clients' wall clocks jump a minute ahead, and a minute back",
    excuses: {},
    of: ({ family }) => ({
      topology: one[family],
      groups: [{ ...three, holdMs: [20, 800], shims: true }],
      plan: [
        { fault: "clock.jump", target: "workers", atMs: 700, options: { byMs: 60_000 } },
        {
          fault: "clock.jump",
          target: "workers",
          after: "begun(clock.jump)",
          atMs: 2_000,
          options: { byMs: -60_000 },
        },
      ],
      runMs: 5_000,
      check: { minGrants: 8 },
    }),
  },
  {
    id: "server-clock",
    words: "the server's wall clock jumps a minute ahead for a second, while a lock is held",
    excuses: {},
    of(subject) {
      const { family } = subject;
      switch (family) {
        case "redis":
        case "zookeeper":
          return {
            topology:
              family === "redis"
                ? { kind: "redis", shims: true }
                : { kind: "zookeeper", members: 1, shims: true },
            groups: [
              // A subject that renews at 4/5 of its lease writes before the next renewal can show it what the jump did.
              {
                name: "h",
                count: 1,
                holdMs: subject.renews ? [2_500, 2_900] : long(subject),
                pauseMs: [200, 300],
              },
              // These workers ask again and again. So they do not wait until the end of the lease that they have read.
              { name: "w", count: 2, holdMs: [20, 60], pauseMs: [10, 30], waitMs: 100 },
            ],
            plan: ["held(k1)", "ended(clock.jump)"].map((after) => ({
              fault: "clock.jump",
              target: "all",
              after,
              atMs: after === "held(k1)" ? 1_900 : 2_500,
              forMs: 1_000,
              options: { byMs: 60_000 },
            })),
            runMs: 8_000,
            check: { minGrants: 8 },
          };
        case "masters":
          return "the clocks of five masters are not turned here";
        case "etcd":
          return "a program without the C library, whose clock is not turned here";
        case "postgresql":
          return "an advisory lock knows no time";
      }
    },
  },
  {
    id: "waiter-killed",
    words: "those who wait are killed, three times",
    excuses: {},
    of: ({ family }) => ({
      topology: one[family],
      groups: [{ ...three, count: 4 }],
      plan: [1, 2, 3].map((nth) =>
        atHolder("worker.kill", { target: "waiter(k1)", after: `granted(k1, ${5 * nth})`, forMs: 100 }),
      ),
      runMs: 4_000,
    }),
  },
  {
    id: "holder-killed",
    words: "holders are killed, twice",
    excuses: {},
    of: ({ family }) => ({
      topology: one[family],
      groups: [{ ...three, count: 4 }],
      plan: [1, 2].map((nth) => atHolder("worker.kill", { after: `granted(k1, ${5 * nth})`, forMs: 100 })),
      runMs: 5_000,
    }),
  },
];

const killOf: Readonly<Record<Family, Pick<PlannedFault, "fault" | "target">>> = {
  redis: { fault: "redis.kill", target: "redis1" },
  masters: { fault: "redis.kill", target: "redis3" },
  zookeeper: { fault: "zk.kill", target: "all" },
  etcd: { fault: "server.kill", target: "all" },
  postgresql: { fault: "server.kill", target: "all" },
};

/** A is granted by three of five masters and is then cut off from all servers. One of the three comes back empty. */
const oneOfThreeForgets: Trial = {
  topology: { kind: "masters", count: 5, persistence: "none" },
  groups: [
    { name: "a", count: 1, holdMs: [4_000, 4_000], pauseMs: [20, 50], proxied: true },
    // The rest is longer than the 200 ms after which redlock asks again, so that A gets its turns, too. Two rivals would leave votes
    // of lost rounds behind, which keep A out for most of the run.
    { name: "b", count: 1, holdMs: [5, 20], pauseMs: [300, 600] },
  ],
  plan: [
    { fault: "redis.unreach", target: "worker(a0)", atMs: 0, options: { servers: "redis4,redis5" } },
    {
      fault: "redis.forget",
      target: "redis3",
      after: "begun(redis.unreach)",
      atMs: 100,
      forMs: 4_500,
      options: { group: "a" },
    },
  ],
  runMs: 4_500,
  check: few,
};

/**
 * A is granted while replication lags, and is cut off. The master dies, and a replica takes over. The leases last
 * longer than all this.
 */
const masterDies = ({ renews }: Subject): Trial => ({
  topology: { kind: "replicated", replicas: 2, sentinels: 3, hurried: true },
  groups: [
    {
      name: "a",
      count: 1,
      holdMs: renews ? [5_000, 5_000] : [4_500, 4_500],
      pauseMs: [200, 500],
      proxied: true,
    },
    { name: "b", count: 2, holdMs: [5, 30], pauseMs: [200, 500] },
  ],
  plan: [
    {
      fault: "redis.kill-behind",
      atMs: 0,
      forMs: 1_500,
      // The time for two turns of A. One that begins just as replication is cut does not count, but the next one does.
      options: { key: "k1", group: "a", waitMs: 12_000, free: true },
    },
  ],
  runMs: 3_000,
  leaseMs: 8_000,
  check: { minGrants: 5, healLimitMs: 20_000 },
});
