/** What a backend has and what its holds live by. The same for all locks of a provider. */
export interface Capabilities {
  /** The kind of backend, as errors and events name it. */
  readonly backend: "zookeeper" | "redis" | "redlock" | "memory";
  /** `"session"`: lives as long as the session. `"ttl"`: expires unless renewed. `"process"`: memory. */
  readonly lease: "session" | "ttl" | "process";
  /**
   * `"durable"`: survives restart and failover, not the restore of an older snapshot or a move to another ensemble.
   * `"best-effort"`: can go back after data loss together with a clock that steps back.
   */
  readonly fencing: "durable" | "best-effort" | "none";
  /** `"none"` on Redis: first come among ours, not across Java. */
  readonly fairness: "fifo" | "none";
  /** Waiters are told (watch, pub/sub) rather than polling. */
  readonly push: boolean;
  /** The kinds of lock that this provider makes. Its method for any other kind throws `UnsupportedError`. */
  readonly primitives: ReadonlySet<PrimitiveKind>;
}

/** The kind of a lock, as snapshots, events and metrics name it. */
export type PrimitiveKind =
  | "mutex"
  | "reentrant-mutex"
  | "read-write-lock"
  | "reentrant-read-write-lock"
  | "semaphore"
  | "count-down-latch"
  | "barrier"
  | "double-barrier"
  | "leader-election"
  // ZooKeeper only
  | "semaphore-mutex"
  | "naive-mutex"
  | "shared-count"
  | "shared-value"
  | "atomic-long"
  | "group-membership"
  // Redis only
  | "fair-mutex"
  | "spin-mutex"
  | "permit-semaphore";
