export interface Capabilities {
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
  readonly primitives: ReadonlySet<PrimitiveKind>;
}

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
