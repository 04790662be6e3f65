import type { CheckerName } from "../checkers/judge.js";
import type { CheckOptions } from "../checkers/options.js";
import type { CheckResult } from "../checkers/verdict.js";
import type { ObjectKind } from "../history/record.js";
import type { Capability } from "./capability.js";
import type { Random } from "./random.js";

/** The selections that a scenario belongs to. */
export type Tag = "smoke" | "full" | "nightly";

/** The servers of a scenario. Neighbouring scenarios with equal topologies share one set of servers. */
export type Topology =
  | { readonly kind: "none" }
  | {
      readonly kind: "zookeeper";
      /** How many servers. */
      readonly members: 1 | 3;
      /** The ticks of 500 ms after which a leader and a follower without contact part; default 5. */
      readonly syncLimit?: number;
      /** Each member has an address of its own, so that members can be cut off from each other. */
      readonly namespaces?: boolean;
      /** Started under the shims, so that faults can change its wall clock and its fsync. */
      readonly shims?: boolean;
      /** Its log is on a small disk that can be filled. */
      readonly smallDisk?: boolean;
    }
  | {
      readonly kind: "redis";
      /** What the server persists; default `"none"`. */
      readonly persistence?: Persistence;
      /** Started under the shims, so that faults can change its wall clock and its fsync. */
      readonly shims?: boolean;
      /** Its files are on a small disk that can be filled. */
      readonly smallDisk?: boolean;
    }
  /** A master with replicas; with sentinels unless `sentinels` is 0. */
  | {
      readonly kind: "replicated";
      /** How many replicas the master has. */
      readonly replicas: 1 | 2;
      /** How many sentinels watch them. */
      readonly sentinels: 0 | 3;
      /**
       * Sentinels check roles twice a second, so that a replaced master stops acting as one within that time. Default:
       * every ten seconds, as shipped.
       */
      readonly hurried?: boolean;
      /** Each server has an address of its own, so that servers can be cut off from each other. */
      readonly namespaces?: boolean;
    }
  /** Independent masters, for RedLock. */
  | {
      readonly kind: "masters";
      /** How many masters. */
      readonly count: 3 | 5;
      /** What each master persists; default `"none"`. */
      readonly persistence?: Persistence;
    }
  /** Servers that this package cannot start. The caller of `runScenario` starts them and passes them as `set`. */
  | {
      readonly kind: "other";
      /** The name of the kind of server. */
      readonly name: string;
    };

/**
 * What a Redis server persists: nothing, snapshots, or an append-only file that is synced each second or at each write.
 */
export type Persistence = "none" | "rdb" | "aof-everysec" | "aof-always";

/** A lock, semaphore or latch for which workers contend. */
export interface KeySpec {
  /** The kind of lock. */
  readonly kind: ObjectKind;
  /** The backend that keeps it. */
  readonly backend: "zookeeper" | "redis" | "redlock" | "other";
  /** For semaphores: the number of permits. */
  readonly limit?: number;
  /** For latches: the count at the start. */
  readonly count?: number;
  /** Whether grants come in the order in which clients asked. */
  readonly fair?: boolean;
  /** Whether grants carry fencing tokens. */
  readonly fenced?: boolean;
  /** The session time-out or the lease, in milliseconds. */
  readonly leaseMs: number;
}

/** Workers that do the same. Each is a process of its own. */
export interface WorkerGroup {
  /** The workers are named `<name>0`, `<name>1`... An incarnation adds its number: `w0#1`. */
  readonly name: string;
  /** The number of processes. */
  readonly count: number;
  /** The client: ours, or one that is known to be wrong. The names are those of the registry of recipes. */
  readonly recipe: string;
  /** The keys for which they contend. */
  readonly keys: readonly string[];
  /** The number of contenders in each process. Default 1. */
  readonly contenders?: number;
  /** The range from which the length of each hold is drawn, in milliseconds. */
  readonly holdMs: readonly [least: number, most: number];
  /** The range from which each rest between two holds is drawn, in milliseconds. Default 0 to 5. */
  readonly pauseMs?: readonly [least: number, most: number];
  /** The longest wait of an acquire, in milliseconds; unset: without limit. */
  readonly waitMs?: number;
  /** Makes each hold do a read-modify-write at the protected resource. */
  readonly writes?: "fenced" | "unfenced";
  /** Options for the recipe: acks, a re-entrant depth, the share of reads, `renew: false`... */
  readonly options?: Readonly<Record<string, string | number | boolean>>;
  /** Whether the workers connect through proxies of their own, so that their links can be cut. */
  readonly proxied?: boolean;
  /** Whether they are started under the shims, so that faults can change their wall clocks. */
  readonly shims?: boolean;
}

/**
 * One fault of a plan. A plan is drawn from the seed before the run, written to `plan.json`, and can be replayed.
 * Targets are roles, which are looked up when the fault begins: `leader`, `follower`, `master`, `holder(k1)`,
 * `keeper(k1)`, `waiter(k1)`, `worker(w0)`.
 */
export interface PlannedFault {
  /**
   * Its place in the plan as it was drawn, from 1. It stays the same if other faults are left out, and so do the
   * numbers drawn for this fault.
   */
  readonly number?: number;
  /** Its name in the registry of faults. */
  readonly fault: string;
  /** Its target; left out if the fault has only one possible target. */
  readonly target?: string;
  /** When it begins, in milliseconds from the beginning of the workload, or from its trigger if it has one. */
  readonly atMs: number;
  /**
   * A trigger that must be met first: `held(k1)`, `waiting(k1)`, `granted(k1, 20)`, `written(k1, 5)`, `begun(<fault>)`,
   * `ended(<fault>)`.
   */
  readonly after?: string;
  /** The time until it is healed, in milliseconds. Unset: at once or never, depending on the fault. */
  readonly forMs?: number;
  /** Options that the fault understands. */
  readonly options?: Readonly<Record<string, string | number | boolean>>;
  /**
   * A fault is never on at the same time as another fault with one of these lanes: it begins late if the other takes
   * longer. After a fault of the lane `servers` every key must also have been granted anew, so that the servers work
   * again before the next fault.
   */
  readonly lanes?: readonly Lane[];
}

/** Faults of one lane are never on at the same time. There is one lane for faults of servers and one for faults of clients. */
export type Lane = "servers" | "clients";

/** The verdicts that make a scenario come out as expected. */
export interface Expectation {
  /** Checkers that must pass. */
  readonly pass: readonly CheckerName[];
  /** Checkers that must convict. If one does not, the run did not show what it is meant to show. */
  readonly violation?: readonly CheckerName[];
  /** Checkers that may pass or convict. Their verdicts are reported with their figures. */
  readonly report?: readonly CheckerName[];
  /**
   * Bounds for metrics of checkers, such as `fence-effect.rejected`. Below `least` nothing was demonstrated; above
   * `most` is a violation. A missing metric is no violation, but does not meet `least`.
   */
  readonly figures?: Readonly<Record<string, { readonly least?: number; readonly most?: number }>>;
}

/** A client that took the place of the scenario's own clients. */
export interface JudgedSubject {
  /** The file or the command line that names it. */
  readonly name: string;
  /** Checkers that have nothing to judge with this client, each with the reason. */
  readonly notJudged: Readonly<Partial<Record<CheckerName, string>>>;
  /** Why it cannot run in this scenario at all; unset if it can. */
  readonly cannot?: string;
}

/** A cluster, workers on it, the faults, and what must hold. */
export interface Scenario {
  /** The id, such as `Z04`. */
  readonly id: string;
  /** A line that says what is broken and what must hold. */
  readonly title: string;
  /** The selections that it belongs to. */
  readonly tags: readonly Tag[];
  /** The servers that it needs. */
  readonly topology: Topology;
  /** Capabilities that it needs in addition to those of its topology. */
  readonly needs?: readonly Capability[];
  /** The keys for which the workers contend, by name. */
  readonly keys: Readonly<Record<string, KeySpec>>;
  /** The workers that contend. */
  readonly groups: readonly WorkerGroup[];
  /** How long the workload runs, in milliseconds. Plan and healing may add to it. */
  readonly runMs: number;
  /** The range of lengths to which it can be set; its plan is then as long. Unset: always `runMs`. */
  readonly lastsMs?: readonly [least: number, most: number];
  /** Draws the faults and their times. The same random numbers give the same plan. */
  plan(random: Random, runMs: number): readonly PlannedFault[];
  /** The verdicts that are expected. */
  readonly expect: Expectation;
  /** Gives the results by itself, without servers and workers. Only with topology `none`. */
  judgeAlone?(): Promise<readonly CheckResult[]>;
  /** Options for the checkers. */
  readonly check?: CheckOptions;
  /** The rows of the matrix guarantee x fault: the names of its faults there. */
  readonly faults: readonly string[];
  /** Its column in the matrix, which names the client or setting: "ours", "ours, acks none", "naive"... */
  readonly mode: string;
  /** The client that is judged instead of the clients of the groups; unset: those are judged. */
  readonly subject?: JudgedSubject;
}
