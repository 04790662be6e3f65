import type { CheckerName } from "../checkers/judge.js";
import type { Random } from "../engine/random.js";
import type { KeySpec, PlannedFault, Scenario, Tag, Topology, WorkerGroup } from "../engine/scenario.js";

const leaseMs = 1_500;

/** A kind of lock, and the checkers that must pass for it under every fault. */
interface Subject {
  readonly words: string;
  readonly topology: Topology;
  readonly key: KeySpec;
  readonly recipe: string;
  readonly options?: WorkerGroup["options"];
  readonly count?: number;
  readonly pass: readonly CheckerName[];
  /** To how many clients the key must be granted after the last fault. Default 2. */
  readonly healClients?: number;
}

/** What is done at which moment. Fields that are left out have the values in `scenario` below. */
interface Moment {
  readonly words: string;
  /** The rows in the table of guarantees. */
  readonly faults: readonly string[];
  readonly subjects: readonly SubjectName[];
  /** Subjects for which the full set has no time; they are run by id. */
  readonly besides?: readonly SubjectName[];
  readonly workers?: Partial<WorkerGroup>;
  /** Two more workers beside the others, at the same lock. */
  readonly others?: Partial<WorkerGroup>;
  readonly runMs: number;
  readonly minGrants?: number;
  readonly plan?: (random: Random) => readonly PlannedFault[];
  readonly pass?: readonly CheckerName[];
  readonly figures?: Scenario["expect"]["figures"];
  /** How late an acquire with a limit may end, in milliseconds. */
  readonly lateMs?: number;
  /** The time after the last fault within which two clients, or `healClients`, must be granted the key. Default 10 s. */
  readonly healLimitMs?: number;
}

const exclusive: readonly CheckerName[] = ["belief", "mutex", "fence-order", "handover"];
const shared: readonly CheckerName[] = ["belief", "rw", "fence-order", "handover"];
const counted: readonly CheckerName[] = ["belief", "permits", "handover"];

const zooKeeper = {
  topology: { kind: "zookeeper", members: 1 },
  recipe: "zookeeper",
} as const satisfies Partial<Subject>;
const redis = { topology: { kind: "redis" }, recipe: "redis" } as const satisfies Partial<Subject>;
const zkKey = { kind: "mutex", backend: "zookeeper", fenced: true, leaseMs } as const satisfies KeySpec;
const redisKey = { kind: "mutex", backend: "redis", fenced: true, leaseMs } as const satisfies KeySpec;
const permits = { permits: 2 };

const subjects = {
  "zk-mutex": {
    ...zooKeeper,
    words: "mutex on ZooKeeper",
    key: { ...zkKey, fair: true },
    pass: exclusive,
  },
  "zk-read-write": {
    ...zooKeeper,
    words: "read-write lock on ZooKeeper",
    key: { ...zkKey, kind: "read-write" },
    pass: shared,
  },
  "zk-semaphore": {
    ...zooKeeper,
    words: "semaphore on ZooKeeper",
    key: { ...zkKey, kind: "semaphore", limit: 2, fenced: false },
    count: 5,
    options: permits,
    pass: counted,
  },
  "zk-reentrant": {
    ...zooKeeper,
    words: "re-entrant mutex on ZooKeeper",
    key: { ...zkKey, kind: "reentrant" },
    pass: [...exclusive, "reentry"],
  },
  "zk-election": {
    ...zooKeeper,
    words: "leader election on ZooKeeper",
    key: zkKey,
    options: { lock: "election" },
    pass: exclusive,
  },
  "redis-mutex": { ...redis, words: "mutex on Redis", key: redisKey, pass: exclusive },
  "redis-fair": {
    ...redis,
    words: "fair mutex on Redis",
    key: { ...redisKey, kind: "fair", fair: true },
    count: 6,
    options: { named: true },
    pass: exclusive,
  },
  "redis-spin": {
    ...redis,
    words: "spin mutex on Redis",
    key: redisKey,
    options: { lock: "spin" },
    pass: exclusive,
    // It has no queue: a client that asks again right after its release may well come before all that sleep.
    healClients: 1,
  },
  "redis-election": {
    ...redis,
    words: "leader election on Redis",
    key: redisKey,
    options: { lock: "election" },
    pass: exclusive,
  },
  "redis-reentrant": {
    ...redis,
    words: "re-entrant mutex on Redis",
    key: { ...redisKey, kind: "reentrant" },
    pass: [...exclusive, "reentry"],
  },
  "redis-multi": {
    ...redis,
    words: "multi-lock on Redis",
    key: { ...redisKey, kind: "multi", fenced: false },
    pass: ["belief", "mutex", "handover"],
  },
  "redis-read-write": {
    ...redis,
    words: "read-write lock on Redis",
    key: { ...redisKey, kind: "read-write" },
    pass: shared,
  },
  "redis-semaphore": {
    ...redis,
    words: "semaphore on Redis",
    key: { ...redisKey, kind: "semaphore", limit: 2, fenced: false },
    count: 5,
    options: permits,
    pass: counted,
  },
  "redis-plain": {
    ...redis,
    words: "semaphore without leases on Redis",
    key: { ...redisKey, kind: "semaphore", limit: 2, fenced: false },
    count: 5,
    options: { ...permits, lock: "plain" },
    pass: counted,
  },
  redlock: {
    topology: { kind: "masters", count: 5, persistence: "none" },
    recipe: "redlock",
    words: "RedLock",
    key: { kind: "redlock", backend: "redlock", leaseMs },
    count: 3,
    pass: ["belief", "mutex"],
  },
} as const satisfies Record<string, Subject>;

type SubjectName = keyof typeof subjects;

/** The fault once in every `everyGrants` grants. */
const each = (times: number, everyGrants: number, fault: (at: number) => PlannedFault): PlannedFault[] =>
  Array.from({ length: times }, (_, at) => ({
    ...fault(at),
    after: `granted(k1, ${everyGrants * (at + 1)})`,
  }));

const moments: Readonly<Record<string, Moment>> = {
  none: {
    words: "Nothing broken",
    faults: ["none"],
    subjects: [
      "zk-mutex",
      "zk-read-write",
      "zk-semaphore",
      "zk-reentrant",
      "zk-election",
      "redis-mutex",
      "redis-spin",
      "redis-election",
      "redis-read-write",
      "redis-semaphore",
      "redis-plain",
      "redlock",
    ],
    besides: ["redis-reentrant", "redis-multi"],
    workers: { contenders: 2 },
    // Long enough for many grants on a machine that also does other work.
    runMs: 3_000,
  },
  queue: {
    words: "Long turns of many, so that a look at the queue now and then sees each of its members",
    faults: ["none"],
    subjects: ["redis-fair"],
    workers: { holdMs: [60, 120] },
    runMs: 8_000,
    pass: ["fifo"],
  },
  limited: {
    words: "Some wait for a tenth of a second at most, or are called back, beside others with long turns",
    faults: ["waits that end"],
    subjects: [
      "zk-mutex",
      "zk-read-write",
      "zk-semaphore",
      "redis-mutex",
      "redis-fair",
      "redis-read-write",
      "redis-semaphore",
    ],
    besides: ["zk-election", "redis-spin", "redis-multi"],
    // A client that does not give up in time waits for several of these holds.
    workers: { count: 3, holdMs: [500, 700] },
    others: { holdMs: [5, 20], waitMs: 60, options: { aborts: 0.5 } },
    // Long enough for a stuck queue to be noticed.
    runMs: 7_000,
    minGrants: 3,
    pass: ["bounded-wait"],
    lateMs: 1_000,
  },
  "holder-killed": {
    words: "Holders are killed: the next has the lock when the lease is over",
    faults: ["client killed"],
    subjects: [
      "zk-election",
      "redis-fair",
      "redis-spin",
      "redis-reentrant",
      "redis-multi",
      "redis-read-write",
      "redis-semaphore",
    ],
    besides: ["redis-election"],
    workers: { holdMs: [20, 40] },
    runMs: 2_000,
    plan: () => each(2, 8, () => ({ fault: "worker.kill", target: "holder(k1)", atMs: 0, forMs: 100 })),
  },
  "waiter-killed": {
    words: "Waiters are killed in the queue: their turn goes to the next",
    faults: ["waiter killed"],
    subjects: ["zk-mutex", "zk-semaphore", "redis-mutex", "redis-fair", "redis-read-write"],
    besides: ["zk-read-write", "redis-semaphore"],
    workers: { holdMs: [30, 60] },
    runMs: 2_000,
    plan: () => each(3, 8, () => ({ fault: "worker.kill", target: "waiter(k1)", atMs: 0, forMs: 100 })),
  },
  "cut-off": {
    words:
      "Nothing passes between holder and server for twice as long as it was promised the lock, which it had renewed before",
    faults: ["holder cut off"],
    subjects: ["redis-mutex", "redis-fair", "redis-reentrant", "redis-read-write", "redis-semaphore"],
    besides: ["zk-mutex", "zk-election", "redis-multi"],
    workers: { holdMs: [4_000, 4_500], proxied: true },
    runMs: 6_000,
    minGrants: 2,
    plan: () => [
      { fault: "link.hole", target: "holder(k1)", after: "held(k1)", atMs: 1_000, forMs: 2 * leaseMs },
    ],
    pass: ["advertised", "lost-notice"],
    // After the heal the second client has to wait for the hold that goes on, and for one or two more holds of the first client.
    healLimitMs: 20_000,
  },
  long: {
    words: "Turns of more than two leases, which are renewed: nothing is lost",
    faults: ["none"],
    subjects: ["redis-mutex"],
    besides: ["redis-read-write", "redis-semaphore"],
    workers: { count: 3, holdMs: [3_200, 3_600] },
    runMs: 9_000,
    minGrants: 2,
    figures: { "lost-notice.lost": { most: 0 } },
  },
  late: {
    words: "Answers come late: within what is promised, and beyond it",
    faults: ["answers late"],
    subjects: ["zk-mutex", "redis-mutex", "redis-fair", "redis-spin"],
    besides: ["redis-read-write"],
    workers: { holdMs: [200, 400], proxied: true },
    runMs: 6_000,
    minGrants: 4,
    plan: () =>
      ["holder(k1)", "waiter(k1)"].flatMap((target, at) =>
        [0.5, 1.5].map((share, nth) => ({
          fault: "link.stall",
          target,
          after: `granted(k1, ${3 + 4 * at + 2 * nth})`,
          atMs: 0,
          forMs: share * leaseMs,
        })),
      ),
    pass: ["advertised", "lost-notice"],
  },
  "late-release": {
    words:
      "A holder's link stands still for longer than its lease, and its release comes while another has the lock",
    faults: ["answers late"],
    subjects: ["redis-fair"],
    besides: ["redis-mutex", "redis-reentrant", "redis-read-write", "redis-semaphore"],
    // Longer than the link stands still after the lease, so that the next client still holds when the release arrives.
    workers: { holdMs: [600, 900], proxied: true },
    runMs: 12_000,
    minGrants: 6,
    plan: () =>
      each(3, 3, () => ({ fault: "link.stall", target: "holder(k1)", atMs: 100, forMs: 1.25 * leaseMs })),
    pass: ["advertised", "lost-notice"],
  },
  downgrades: {
    words: "Writers become readers while other writers wait",
    faults: ["none"],
    subjects: ["zk-read-write", "redis-read-write"],
    workers: { count: 3, contenders: 2, holdMs: [2, 10], options: { reads: 0.3, downgrades: 1 } },
    runMs: 3_000,
    minGrants: 40,
  },
  idle: {
    words: "The lock's parent is removed whenever no client is there",
    faults: ["parent removed"],
    subjects: ["zk-mutex", "zk-read-write", "zk-semaphore"],
    workers: { count: 3, holdMs: [1, 5], pauseMs: [5, 60] },
    runMs: 3_000,
    plan: () => [{ fault: "zk.remove-parents", target: "k1", atMs: 200, options: { times: 8 } }],
  },
  "unlike-leases": {
    words: "Clients with a shorter lease than the others, and one is killed: no lease ends early for that",
    faults: ["client killed"],
    subjects: ["zk-mutex", "redis-mutex", "redis-read-write"],
    besides: ["redis-fair"],
    workers: { count: 3, holdMs: [700, 1_000] },
    others: { holdMs: [20, 40], options: { leaseMs: 1_000 } },
    runMs: 4_000,
    minGrants: 6,
    plan: () => each(1, 4, () => ({ fault: "worker.kill", target: "holder(k1)", atMs: 0, forMs: 100 })),
    pass: ["advertised", "lost-notice"],
  },
};

/** A short scenario, with limits in proportion. A correct recipe has time to spare, and a wrong one soon differs from it. */
function scenario(id: string, tags: readonly Tag[], subject: Subject, moment: Moment): Scenario {
  const { key, recipe, count = 4, options, healClients } = subject;
  const { plan = () => [], others, workers, minGrants = 5, faults, runMs } = moment;
  const group = (name: string, more: Partial<WorkerGroup> | undefined, least: number): WorkerGroup => ({
    name,
    count: least,
    recipe,
    keys: ["k1"],
    holdMs: [5, 20],
    ...(workers?.proxied === true && { proxied: true }),
    ...more,
    options: { ...options, ...more?.options },
  });
  return {
    id,
    title: `${moment.words}: ${subject.words}`,
    tags,
    topology: subject.topology,
    keys: { k1: key },
    groups: [group("w", workers, count), ...(others === undefined ? [] : [group("o", others, 2)])],
    runMs,
    plan,
    expect: {
      pass: ["heal-liveness", "leaks", ...subject.pass, ...(moment.pass ?? [])],
      ...(moment.figures !== undefined && { figures: moment.figures }),
    },
    check: {
      minGrants,
      handoverLimitMs: leaseMs + 2_000,
      lostLateMs: 250,
      ...(moment.lateMs !== undefined && { lateMs: moment.lateMs }),
      ...(moment.healLimitMs !== undefined && { healLimitMs: moment.healLimitMs }),
      ...(healClients !== undefined && { healClients }),
    },
    faults,
    mode: "ours",
  };
}

/** Every kind of lock at the moments for which it has guards: made from the table above, named `<subject>-<moment>`. */
export const momentScenarios: readonly Scenario[] = Object.entries(moments).flatMap(([name, moment]) => {
  const { subjects: full, besides = [] } = moment;
  return [...full, ...besides].map((subject) =>
    scenario(`${subject}-${name}`, full.includes(subject) ? ["full"] : [], subjects[subject], moment),
  );
});
