import type { CheckerName } from "../checkers/judge.js";
import type { CheckOptions } from "../checkers/options.js";
import type { CheckResult } from "../checkers/verdict.js";
import type { ObjectKind } from "../history/record.js";
import type { Capability } from "./capability.js";
import type { Random } from "./random.js";

/** The selections that a scenario belongs to. */
export type Tag = "smoke" | "full" | "nightly";

/** Servers of a scenario. Scenarios of equal topologies that stand beside each other share one set. */
export type Topology =
  | { readonly kind: "none" }
  | {
      readonly kind: "zookeeper";
      /** How many servers. */
      readonly members: 1 | 3;
      /** Ticks of 500 ms after which a leader and a follower that do not hear each other part; default 5. */
      readonly syncLimit?: number;
      /** Each member with an address of its own, so that members can be cut from each other. */
      readonly namespaces?: boolean;
      /** Started under the shims: its wall clock and its fsync can be turned. */
      readonly shims?: boolean;
      /** Its log on a small disk that can be filled. */
      readonly smallDisk?: boolean;
    }
  | {
      readonly kind: "redis";
      /** What it writes down; default `"none"`. */
      readonly persistence?: Persistence;
      /** Started under the shims: its wall clock and its fsync can be turned. */
      readonly shims?: boolean;
      /** Its files on a small disk that can be filled. */
      readonly smallDisk?: boolean;
    }
  /** A master with replicas; with sentinels unless there are none. */
  | {
      readonly kind: "replicated";
      /** How many replicas the master has. */
      readonly replicas: 1 | 2;
      /** How many sentinels watch them. */
      readonly sentinels: 0 | 3;
      /** Sentinels that look around twice a second: an old master is one no longer than that. Default: every ten seconds, as shipped. */
      readonly hurried?: boolean;
      /** Each server with an address of its own, so that servers can be cut from each other. */
      readonly namespaces?: boolean;
    }
  /** Independent masters, for RedLock. */
  | {
      readonly kind: "masters";
      /** How many masters. */
      readonly count: 3 | 5;
      /** What it writes down; default `"none"`. */
      readonly persistence?: Persistence;
    }
  /** Servers that this package cannot start. The caller of `runScenario` starts them and passes them as `set`. */
  | {
      readonly kind: "other";
      /** What they are. */
      readonly name: string;
    };

/**
 * What a Redis server writes down: nothing, snapshots, or an append-only file that is synced each second or at each
 * write.
 */
export type Persistence = "none" | "rdb" | "aof-everysec" | "aof-always";

/** Something that is contended for. */
export interface KeySpec {
  /** The kind of lock. */
  readonly kind: ObjectKind;
  /** Where it is kept. */
  readonly backend: "zookeeper" | "redis" | "redlock" | "other";
  /** Semaphores: how many permits. */
  readonly limit?: number;
  /** Latches: the count at the start. */
  readonly count?: number;
  /** Grants come in the order in which clients asked. */
  readonly fair?: boolean;
  /** Grants carry tokens. */
  readonly fenced?: boolean;
  /** The session time-out or the lease. */
  readonly leaseMs: number;
}

/** Workers that do the same, each a process of its own. */
export interface WorkerGroup {
  /** Workers are `<name>0`, `<name>1`...; incarnations come behind: `w0#1`. */
  readonly name: string;
  /** How many processes. */
  readonly count: number;
  /** Which client: ours, or one that is known to be wrong. Names are those of the registry of recipes. */
  readonly recipe: string;
  /** The keys that they contend for. */
  readonly keys: readonly string[];
  /** Contenders in each process. Default 1. */
  readonly contenders?: number;
  /** How long each holds, drawn between the two, in milliseconds. */
  readonly holdMs: readonly [least: number, most: number];
  /** How long each rests between two holds, drawn between the two, in milliseconds. Default 0 to 5. */
  readonly pauseMs?: readonly [least: number, most: number];
  /** Waits of acquires; unset: without limit. */
  readonly waitMs?: number;
  /** A read-modify-write at the protected resource in each hold. */
  readonly writes?: "fenced" | "unfenced";
  /** Options for the recipe: acks, a re-entrant depth, shares of reads, `renew: false`... */
  readonly options?: Readonly<Record<string, string | number | boolean>>;
  /** Through a proxy of its own, so that its links can be cut. */
  readonly proxied?: boolean;
  /** Started under the shims: their wall clocks can be turned. */
  readonly shims?: boolean;
}

/**
 * One fault of a plan. A plan is drawn from the seed before the run, written to `plan.json`, and can be replayed.
 * Targets are roles, found when the fault begins: `leader`, `follower`, `master`, `holder(k1)`, `keeper(k1)`, `waiter(k1)`, `worker(w0)`.
 */
export interface PlannedFault {
  /** Its place in the plan as it was drawn, from 1. Kept where others are left out, and with it what is drawn for this one. */
  readonly number?: number;
  /** Its name in the registry of faults. */
  readonly fault: string;
  /** What it hits; left out where the fault has one target only. */
  readonly target?: string;
  /** When it begins, from the beginning of the workload; with a trigger, from that. */
  readonly atMs: number;
  /** What must have happened before: `held(k1)`, `waiting(k1)`, `granted(k1, 20)`, `written(k1, 5)`, `begun(<fault>)`, `ended(<fault>)`. */
  readonly after?: string;
  /** Time until it is healed; unset: at once, or never, as the fault has it. */
  readonly forMs?: number;
  /** Options that the fault understands. */
  readonly options?: Readonly<Record<string, string | number | boolean>>;
  /**
   * Never on at the same time as another with one of these, however long that one takes: it then begins late. After one of the
   * lane `servers` every key must have been granted anew, too, so that what one fault took away is there before the next.
   */
  readonly lanes?: readonly Lane[];
}

/** Faults of one lane are never on at the same time: those of servers, and those of clients. */
export type Lane = "servers" | "clients";

/** What the checkers must say for a scenario to come out as expected. */
export interface Expectation {
  /** Checkers that must pass. */
  readonly pass: readonly CheckerName[];
  /** Checkers that must convict: without that the run was not what it is meant to show. */
  readonly violation?: readonly CheckerName[];
  /** May go either way; reported with its figures. */
  readonly report?: readonly CheckerName[];
  /**
   * Metrics of checkers, as `fence-effect.rejected`: below `least` nothing was demonstrated, above `most` is a violation,
   * and a metric that is not there is neither.
   */
  readonly figures?: Readonly<Record<string, { readonly least?: number; readonly most?: number }>>;
}

/** A client that took the place of those that a scenario has. */
export interface JudgedSubject {
  /** The file or the command line that it came from. */
  readonly name: string;
  /** Checkers that it gives nothing to judge, each with the reason. */
  readonly notJudged: Readonly<Partial<Record<CheckerName, string>>>;
  /** Why it cannot be run in this scenario at all; unset where it can. */
  readonly cannot?: string;
}

/** A cluster, workers on it, what is broken meanwhile, and what must hold. */
export interface Scenario {
  /** `Z04`. */
  readonly id: string;
  /** A line that says what is broken and what must hold. */
  readonly title: string;
  /** The selections that it belongs to. */
  readonly tags: readonly Tag[];
  /** The servers that it needs. */
  readonly topology: Topology;
  /** What it needs beyond what its topology needs. */
  readonly needs?: readonly Capability[];
  /** What is contended for, by name. */
  readonly keys: Readonly<Record<string, KeySpec>>;
  /** The workers that contend. */
  readonly groups: readonly WorkerGroup[];
  /** How long the workload runs; what plan and healing need comes on top. */
  readonly runMs: number;
  /** It can be made to run for any time from the one to the other: its plan is as long as that. Unset: always `runMs`. */
  readonly lastsMs?: readonly [least: number, most: number];
  /** Draws what is broken, and when. The same numbers give the same plan. */
  plan(random: Random, runMs: number): readonly PlannedFault[];
  /** What the checkers must say. */
  readonly expect: Expectation;
  /** Instead of servers and workers: gives its results by itself. Only with topology `none`. */
  judgeAlone?(): Promise<readonly CheckResult[]>;
  /** Options for the checkers. */
  readonly check?: CheckOptions;
  /** Rows of the matrix guarantee x fault: what its faults are called there. */
  readonly faults: readonly string[];
  /** Its column in the matrix, which names the client or setting: "ours", "ours, acks none", "naive"... */
  readonly mode: string;
  /** The client that is judged instead of those that the groups name; unset: theirs. */
  readonly subject?: JudgedSubject;
}
