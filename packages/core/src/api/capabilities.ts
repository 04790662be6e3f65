/** What a backend can do, and what keeps its holds alive. The same for all locks of a provider. */
export interface Capabilities {
  /** The kind of backend, as errors and events name it. */
  readonly backend: "zookeeper" | "redis" | "redlock" | "memory";
  /**
   * What keeps a hold alive. `"session"`: the session with the server. `"ttl"`: a lease, which ends unless it is renewed.
   * `"process"`: this process (memory).
   */
  readonly lease: "session" | "ttl" | "process";
  /**
   * Whether tokens rise in all cases. `"durable"`: also over restarts and failovers of the server, not over the restore of
   * an older snapshot or a move to another ensemble. `"best-effort"`: tokens can go back after a loss of data together with
   * a clock that steps back. `"none"`: there are no tokens.
   */
  readonly fencing: "durable" | "best-effort" | "none";
  /**
   * `"fifo"`: clients get the lock in the order in which they asked. `"none"`: the backend promises no order. On Redis, clients
   * of holdfast still get a mutex or a write lock in the order in which they asked, except `spinMutex`; Java clients may
   * overtake them. RedLock has no order.
   */
  readonly fairness: "fifo" | "none";
  /** `true`: the server sends waiters a message when their turn may have come (watch, pub/sub). `false`: waiters poll. */
  readonly push: boolean;
  /** The kinds of lock that this provider makes. Its method for any other kind throws `UnsupportedError`. */
  readonly primitives: ReadonlySet<PrimitiveKind>;
}

/**
 * The kind of a lock, as snapshots, events and metrics name it: by the method that made its view. On Redis `semaphore()` and
 * `permitSemaphore()` make a `permit-semaphore`, and `plainSemaphore()` makes a `semaphore`.
 */
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
  | "record"
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
