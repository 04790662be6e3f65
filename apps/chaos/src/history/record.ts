import type { CheckOptions } from "../checkers/options.js";

/** Nanoseconds since the run began, by the machine's one monotonic clock. As a number they are exact up to 104 days. */
export type Nanos = number;

/** The operations of workers. `write`: a read-modify-write at the protected resource. */
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
  /** The order of arrival at the recorder. */
  readonly i: number;
  /** When it happened. */
  readonly t: Nanos;
}

/** The first record of a run. */
export interface MetaRecord extends Base {
  readonly type: "meta";
  readonly v: 1;
  /** The name of the run. */
  readonly run: string;
  /** The seed from which plan and workload were drawn. */
  readonly seed: number;
  /** `Scenario.id`. */
  readonly scenario: string;
  /** The keys for which workers contend. */
  readonly keys: Readonly<
    Record<
      string,
      {
        readonly kind: ObjectKind;
        readonly backend: "zookeeper" | "redis" | "redlock" | "other";
        /** For semaphores: the number of permits. */
        readonly limit?: number;
        /** For latches: the number of countdowns until it opens. */
        readonly count?: number;
        readonly fair?: boolean;
        /** Whether grants carry fencing tokens. */
        readonly fenced?: boolean;
        /** The session time-out or the lease, in milliseconds. */
        readonly leaseMs: number;
      }
    >
  >;
  /** The number of servers in an ensemble that grants as long as a majority of them is up; left out if all have to be up. */
  readonly members?: number;
  /** Versions of the servers, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  /** The capabilities of this machine, as they were found before the run. */
  readonly capabilities: readonly string[];
  /** The limits by which the run was judged; left out: the defaults. `check` and `report` judge the history again by them. */
  readonly check?: CheckOptions;
}

/** A worker begins an operation. `op` connects this record with the record that ends the operation. */
export interface InvokeRecord extends Base {
  readonly type: "invoke";
  /** The worker and its incarnation: `w3#0`. The incarnation rises with each restart. */
  readonly p: string;
  /** The operation. */
  readonly f: OperationName;
  /** The key of the operation. */
  readonly key: string;
  /** The number of the operation, unique within `p`. */
  readonly op: number;
  /** The hold that a release, downgrade or write is about. */
  readonly hold?: string;
  /** The arguments of the operation; left out if there are none. */
  readonly arg?: {
    /** The longest wait, in milliseconds; left out: without a limit. */
    readonly waitMs?: number;
    /** The lease that it asks for, in milliseconds. */
    readonly ttlMs?: number;
    /** The side of a read-write lock. */
    readonly mode?: "read" | "write";
    /** The number of permits, for a semaphore. */
    readonly permits?: number;
    /** The logical thread, for a re-entrant lock. */
    readonly thread?: string;
  };
}

/** How an operation ended: `ok`, `fail` (it did not take place), `info` (not known). */
export interface OutcomeRecord extends Base {
  /** How it ended. */
  readonly type: "ok" | "fail" | "info";
  /** The worker and its incarnation, as in the record that began it. */
  readonly p: string;
  /** The operation. */
  readonly f: OperationName;
  /** The key of the operation. */
  readonly key: string;
  /** The number of the operation, as in the record that began it. */
  readonly op: number;
  /** What it returned. After a granted acquire, the name of the hold is used in all later records. */
  readonly ret?: {
    /** The name of the hold. */
    readonly hold?: string;
    /** A number of 63 bits, as decimal text. */
    readonly token?: string;
    /** The time until which the recipe promised the hold, by the clock of `t`. */
    readonly validUntil?: Nanos;
    /** How often the owner holds the lock now, for a re-entrant lock. */
    readonly count?: number;
    /** Set for a release after which the client keeps the lock for its next owner. */
    readonly kept?: true;
  };
  /** The error with which it was rejected. */
  readonly error?: string;
}

/** An event of which a holder or waiter was notified. */
export interface EventRecord extends Base {
  readonly type: "event";
  /** The worker and its incarnation. */
  readonly p: string;
  /** The event. */
  readonly f: "lost" | "uncertain" | "recovered" | "requeued" | "extended";
  /** The key of the event. */
  readonly key: string;
  /** The hold of the event. */
  readonly hold?: string;
  /** The reason that the recipe gave, if any. */
  readonly cause?: string;
  /** For an extension, the time until which the recipe promises the hold now, by the clock of `t`. */
  readonly validUntil?: Nanos;
}

/** A write that reached the protected resource. */
export interface EffectRecord extends Base {
  readonly type: "effect";
  readonly p: "resource";
  /** The key whose resource it is. */
  readonly key: string;
  /** The hold under which it was written. */
  readonly hold: string;
  /** The fencing token that came with it, as decimal text. */
  readonly token?: string;
  /** Whether the resource accepted the write. */
  readonly accepted: boolean;
  /** The value that the writer had read. */
  readonly read?: number;
  /** The value of the resource now. */
  readonly value?: number;
}

/** An action of the nemesis. `evidence` shows that it really happened. */
export interface FaultRecord extends Base {
  readonly type: "fault";
  readonly p: "nemesis";
  /** `PlannedFault.fault`. */
  readonly f: string;
  /** Whether the fault begins or ends. */
  readonly phase: "begin" | "end";
  /** The target that was hit. */
  readonly target?: string;
  /** The evidence that it really happened. */
  readonly evidence?: unknown;
}

/** A worker process started, ended, was stopped or goes on. */
export interface WorkerRecord extends Base {
  readonly type: "worker";
  /** The worker and its incarnation. */
  readonly p: string;
  /** What happened to the process. */
  readonly f: "start" | "exit" | "killed" | "paused" | "resumed";
}

/** What an observer saw in the backend. */
export interface SnapshotRecord extends Base {
  readonly type: "snapshot";
  readonly p: "observer";
  /** The observed key. */
  readonly key: string;
  /** What the backend showed. */
  readonly state: {
    /** The holders, by `p:op` if the backend has that. */
    readonly holders: readonly string[];
    /** The waiters, in the order of the queue if there is one. */
    readonly queue: readonly string[];
    /** What dead owners left in the backend, at the end of the run. */
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
