import type { CheckerName } from "../checkers/judge.js";
import type { CheckOptions } from "../checkers/options.js";
import type { CheckResult } from "../checkers/verdict.js";
import type { ObjectKind } from "../history/record.js";
import type { Capability } from "./capability.js";
import type { Random } from "./random.js";

export type Tag = "smoke" | "full" | "nightly";

/** Servers of a scenario. Scenarios of equal topologies that stand beside each other share one set. */
export type Topology =
  | { readonly kind: "none" }
  | {
      readonly kind: "zookeeper";
      readonly members: 1 | 3;
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
      readonly persistence?: Persistence;
      readonly shims?: boolean;
      readonly smallDisk?: boolean;
    }
  /** A master with replicas; with sentinels unless there are none. */
  | {
      readonly kind: "replicated";
      readonly replicas: 1 | 2;
      readonly sentinels: 0 | 3;
      /** Sentinels that look around twice a second: an old master is one no longer than that. Default: every ten seconds, as shipped. */
      readonly hurried?: boolean;
      readonly namespaces?: boolean;
    }
  /** Independent masters, for RedLock. */
  | { readonly kind: "masters"; readonly count: 3 | 5; readonly persistence?: Persistence };

export type Persistence = "none" | "rdb" | "aof-everysec" | "aof-always";

/** Something that is contended for. */
export interface KeySpec {
  readonly kind: ObjectKind;
  readonly backend: "zookeeper" | "redis" | "redlock";
  readonly limit?: number;
  readonly count?: number;
  readonly fair?: boolean;
  readonly fenced?: boolean;
  /** The session time-out or the lease. */
  readonly leaseMs: number;
}

/** Workers that do the same, each a process of its own. */
export interface WorkerGroup {
  /** Workers are `<name>0`, `<name>1`...; incarnations come behind: `w0#1`. */
  readonly name: string;
  readonly count: number;
  /** Which client: ours, or one that is known to be wrong. Names are those of the registry of recipes. */
  readonly recipe: string;
  readonly keys: readonly string[];
  /** Contenders in each process. Default 1. */
  readonly contenders?: number;
  readonly holdMs: readonly [least: number, most: number];
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
 * Targets are roles, found when the fault begins: `leader`, `follower`, `master`, `holder(k1)`, `waiter(k1)`, `worker(w0)`.
 */
export interface PlannedFault {
  /** Its place in the plan as it was drawn, from 1. Kept where others are left out, and with it what is drawn for this one. */
  readonly number?: number;
  /** Of the registry of faults. */
  readonly fault: string;
  readonly target?: string;
  /** From the beginning of the workload; with a trigger: after that. */
  readonly atMs: number;
  /** What must have happened before: `held(k1)`, `waiting(k1)`, `granted(k1, 20)`, `written(k1, 5)`, `begun(<fault>)`, `ended(<fault>)`. */
  readonly after?: string;
  /** Until it is healed; unset: at once, or never, as the fault has it. */
  readonly forMs?: number;
  readonly options?: Readonly<Record<string, string | number | boolean>>;
  /**
   * Never on at the same time as another with one of these, however long that one takes: it then begins late. After one of the
   * lane `servers` every key must have been granted anew, too, so that what one fault took away is there before the next.
   */
  readonly lanes?: readonly Lane[];
}

export type Lane = "servers" | "clients";

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

export interface Scenario {
  /** `Z04`. */
  readonly id: string;
  /** A line that says what is broken and what must hold. */
  readonly title: string;
  readonly tags: readonly Tag[];
  readonly topology: Topology;
  /** Beyond what its topology needs. */
  readonly needs?: readonly Capability[];
  readonly keys: Readonly<Record<string, KeySpec>>;
  readonly groups: readonly WorkerGroup[];
  /** How long the workload runs; what plan and healing need comes on top. */
  readonly runMs: number;
  /** It may be told to run for any time from the one to the other: its plan is as long as that. Unset: always `runMs`. */
  readonly lastsMs?: readonly [least: number, most: number];
  plan(random: Random, runMs: number): readonly PlannedFault[];
  readonly expect: Expectation;
  /** Instead of servers and workers: gives its results by itself. Only with topology `none`. */
  judgeAlone?(): Promise<readonly CheckResult[]>;
  readonly check?: CheckOptions;
  /** Rows of the matrix guarantee x fault: what its faults are called there. */
  readonly faults: readonly string[];
  /** Columns that tell one client or setting from another: "ours", "ours, acks none", "naive"... */
  readonly mode: string;
}
