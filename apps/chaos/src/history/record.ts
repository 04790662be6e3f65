import type { CheckOptions } from "../checkers/options.js";

/** Nanoseconds since the run began, by the one monotonic clock of the machine; as a number exact up to 104 days. */
export type Nanos = number;

/** What workers do. `write`: a read-modify-write at the protected resource. */
export type OperationName =
  | "acquire"
  | "try-acquire"
  | "release"
  | "downgrade"
  | "resize"
  | "count-down"
  | "await"
  | "write";

/** The kinds of lock that workers contend for. */
export type ObjectKind =
  | "mutex"
  | "reentrant"
  | "fair"
  | "read-write"
  | "semaphore"
  | "multi"
  | "redlock"
  | "latch"
  | "naive";

interface Base {
  /** Order of arrival at the recorder. */
  readonly i: number;
  /** When it happened. */
  readonly t: Nanos;
}

/** The first record of a run. */
export interface MetaRecord extends Base {
  readonly type: "meta";
  readonly v: 1;
  /** Names the run. */
  readonly run: string;
  /** The seed that plan and workload were drawn from. */
  readonly seed: number;
  /** `Scenario.id`. */
  readonly scenario: string;
  /** Each key that is worked on. */
  readonly keys: Readonly<
    Record<
      string,
      {
        readonly kind: ObjectKind;
        readonly backend: "zookeeper" | "redis" | "redlock" | "other";
        /** Semaphores: permits. */
        readonly limit?: number;
        /** Latches: countdowns until it opens. */
        readonly count?: number;
        readonly fair?: boolean;
        /** Grants carry tokens. */
        readonly fenced?: boolean;
        /** The session time-out or the lease. */
        readonly leaseMs: number;
      }
    >
  >;
  /** Servers of an ensemble that grants as long as a majority of them is up; left out where all have to be. */
  readonly members?: number;
  /** Versions of the servers, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  /** What this machine can do, as it was found before the run. */
  readonly capabilities: readonly string[];
  /** The limits that the run was judged by; left out: the defaults. `check` and `report` judge the history again by them. */
  readonly check?: CheckOptions;
}

/** A worker asks. `op` ties it to the record that ends it. */
export interface InvokeRecord extends Base {
  readonly type: "invoke";
  /** Worker and incarnation: `w3#0`. The incarnation rises after a restart. */
  readonly p: string;
  /** What it asks for. */
  readonly f: OperationName;
  /** The key that it is about. */
  readonly key: string;
  /** Number of the operation, unique within `p`. */
  readonly op: number;
  /** The hold that a release, downgrade or write is about. */
  readonly hold?: string;
  /** What it asks with; left out where there is nothing to say. */
  readonly arg?: {
    /** The longest wait, in milliseconds; left out: without a limit. */
    readonly waitMs?: number;
    /** The lease that it asks for, in milliseconds. */
    readonly ttlMs?: number;
    /** The side of a read-write lock. */
    readonly mode?: "read" | "write";
    /** How many permits of a semaphore. */
    readonly permits?: number;
    /** Re-entrant: the logical thread. */
    readonly thread?: string;
  };
}

/** How it ended: `ok`, `fail` (it did not happen), `info` (not known). */
export interface OutcomeRecord extends Base {
  /** How it ended. */
  readonly type: "ok" | "fail" | "info";
  /** Worker and incarnation, as in the record that began it. */
  readonly p: string;
  /** What was asked for. */
  readonly f: OperationName;
  /** The key that it was about. */
  readonly key: string;
  /** Number of the operation, as in the record that began it. */
  readonly op: number;
  /** What it returned. For an acquire that was granted it names the hold from now on. */
  readonly ret?: {
    /** The name of the hold. */
    readonly hold?: string;
    /** Decimal text: 63 bits. */
    readonly token?: string;
    /** The time until which the recipe promised it, by the clock of `t`. */
    readonly validUntil?: Nanos;
    /** Re-entrant: how often its owner holds it now. */
    readonly count?: number;
    /** Set for a release after which the client keeps the lock for its next owner. */
    readonly kept?: true;
  };
  /** What it was rejected with. */
  readonly error?: string;
}

/** What the holder heard without asking. */
export interface EventRecord extends Base {
  readonly type: "event";
  /** Worker and incarnation. */
  readonly p: string;
  /** What the holder heard. */
  readonly f: "lost" | "uncertain" | "recovered" | "requeued" | "extended";
  /** The key that it is about. */
  readonly key: string;
  /** The hold that it is about. */
  readonly hold?: string;
  /** The reason that the recipe gave, where it gave one. */
  readonly cause?: string;
  /** For an extension, the time until which the recipe promises the hold now, by the clock of `t`. */
  readonly validUntil?: Nanos;
}

/** A write that came to the protected resource. */
export interface EffectRecord extends Base {
  readonly type: "effect";
  readonly p: "resource";
  /** The key whose resource it is. */
  readonly key: string;
  /** The hold under which it was written. */
  readonly hold: string;
  /** The fencing token that came with it, as decimal text. */
  readonly token?: string;
  /** Whether the resource took it. */
  readonly accepted: boolean;
  /** The value that the writer had read, and the one that is there now. */
  readonly read?: number;
  /** The value that is there now. */
  readonly value?: number;
}

/** What the nemesis did. `evidence` shows that it really happened. */
export interface FaultRecord extends Base {
  readonly type: "fault";
  readonly p: "nemesis";
  /** `PlannedFault.fault`. */
  readonly f: string;
  /** Whether it was done or healed. */
  readonly phase: "begin" | "end";
  /** What it hit. */
  readonly target?: string;
  /** What shows that it really happened. */
  readonly evidence?: unknown;
}

/** A worker process began, ended, was stopped or goes on. */
export interface WorkerRecord extends Base {
  readonly type: "worker";
  /** Worker and incarnation. */
  readonly p: string;
  /** What became of the process. */
  readonly f: "start" | "exit" | "killed" | "paused" | "resumed";
}

/** What an observer saw in the backend. */
export interface SnapshotRecord extends Base {
  readonly type: "snapshot";
  readonly p: "observer";
  /** The key that was looked at. */
  readonly key: string;
  /** What the backend showed. */
  readonly state: {
    /** The holders, by `p:op` where the backend has that. */
    readonly holders: readonly string[];
    /** The waiters, in the order of the queue where there is one. */
    readonly queue: readonly string[];
    /** Things of dead owners, at the end. */
    readonly left?: readonly string[];
  };
}

/** One line of `history.jsonl`. */
export type HistoryRecord =
  | MetaRecord
  | InvokeRecord
  | OutcomeRecord
  | EventRecord
  | EffectRecord
  | FaultRecord
  | WorkerRecord
  | SnapshotRecord;
