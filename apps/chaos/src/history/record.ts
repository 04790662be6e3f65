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
  readonly t: Nanos;
}

/** The first record of a run. */
export interface MetaRecord extends Base {
  readonly type: "meta";
  readonly v: 1;
  readonly run: string;
  readonly seed: number;
  readonly scenario: string;
  /** Each key that is worked on. */
  readonly keys: Readonly<
    Record<
      string,
      {
        readonly kind: ObjectKind;
        readonly backend: "zookeeper" | "redis" | "redlock";
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
  readonly versions: Readonly<Record<string, string>>;
  readonly capabilities: readonly string[];
}

/** A worker asks. `op` ties it to the record that ends it. */
export interface InvokeRecord extends Base {
  readonly type: "invoke";
  /** Worker and incarnation: `w3#0`. The incarnation rises after a restart. */
  readonly p: string;
  readonly f: OperationName;
  readonly key: string;
  readonly op: number;
  /** Of a release, downgrade or write: the hold that it is about. */
  readonly hold?: string;
  readonly arg?: {
    readonly waitMs?: number;
    readonly ttlMs?: number;
    readonly mode?: "read" | "write";
    readonly permits?: number;
    /** Re-entrant: the logical thread. */
    readonly thread?: string;
  };
}

/** How it ended: `ok`, `fail` (it did not happen), `info` (nobody knows). */
export interface OutcomeRecord extends Base {
  readonly type: "ok" | "fail" | "info";
  readonly p: string;
  readonly f: OperationName;
  readonly key: string;
  readonly op: number;
  /** Of an acquire that was granted: names the hold from now on. */
  readonly ret?: {
    readonly hold?: string;
    /** Decimal text: 63 bits. */
    readonly token?: string;
    /** Until when the recipe promised it, by the clock of `t`. */
    readonly validUntil?: Nanos;
    readonly count?: number;
  };
  readonly error?: string;
}

/** What the holder was told without asking. */
export interface EventRecord extends Base {
  readonly type: "event";
  readonly p: string;
  readonly f: "lost" | "uncertain" | "recovered" | "requeued" | "extended";
  readonly key: string;
  readonly hold?: string;
  readonly cause?: string;
  readonly validUntil?: Nanos;
}

/** A write that came to the protected resource. */
export interface EffectRecord extends Base {
  readonly type: "effect";
  readonly p: "resource";
  readonly key: string;
  readonly hold: string;
  readonly token?: string;
  readonly accepted: boolean;
  /** The value that the writer had read, and the one that is there now. */
  readonly read?: number;
  readonly value?: number;
}

/** What the nemesis did. `evidence` shows that it really happened. */
export interface FaultRecord extends Base {
  readonly type: "fault";
  readonly p: "nemesis";
  readonly f: string;
  readonly phase: "begin" | "end";
  readonly target?: string;
  readonly evidence?: unknown;
}

/** A worker process began, ended, was stopped or goes on. */
export interface WorkerRecord extends Base {
  readonly type: "worker";
  readonly p: string;
  readonly f: "start" | "exit" | "killed" | "paused" | "resumed";
}

/** What an observer saw in the backend. */
export interface SnapshotRecord extends Base {
  readonly type: "snapshot";
  readonly p: "observer";
  readonly key: string;
  readonly state: {
    readonly holders: readonly string[];
    readonly queue: readonly string[];
    /** Things of dead owners, at the end. */
    readonly left?: readonly string[];
  };
}

export type HistoryRecord =
  | MetaRecord
  | InvokeRecord
  | OutcomeRecord
  | EventRecord
  | EffectRecord
  | FaultRecord
  | WorkerRecord
  | SnapshotRecord;
