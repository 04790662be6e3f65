import type { LockHandle } from "./handle.js";
import type { Millis } from "./values.js";

export interface AcquireOptions {
  /**
   * Longest wait for the grant, in milliseconds. `Infinity` (the default) waits for `signal`. `0` asks once: the server may take up to
   * the provider's `connectTimeoutMs` for its answer, connecting included.
   *
   * Bounds the whole call, whatever the server does: the promise settles at its time, and what is left of the request is taken back
   * behind it. The next acquire of this name by this provider waits for that, so nothing is granted twice.
   *
   * `AcquireTimeoutError` means contention. A call in which no server has answered, or that has no connection, rejects with
   * `BackendError`: after `waitMs` or `connectTimeoutMs`, whichever is shorter.
   */
  waitMs?: Millis;

  /** Gives up waiting. The promise rejects with `signal.reason` at once, whatever the server does. Has no effect once granted. */
  signal?: AbortSignal;

  /**
   * How long the backend keeps us without news; default 30,000. Only where `capabilities.lease` is `"ttl"`: elsewhere, as on
   * ZooKeeper and in memory, giving it is an `UnsupportedError`.
   */
  leaseMs?: Millis;

  /**
   * Renew until released (default). `false` makes the lease final: it ends at `leaseMs`, whatever we do. Where there is no lease,
   * `false` is an `UnsupportedError`.
   */
  renew?: boolean;

  /** Listen for requests to let go: `LockHandle.revokeRequested`. Default `false`. */
  revocable?: boolean;

  /**
   * The lock stays taken for at least so long after its grant, although its holder is done earlier; default 0, always
   * finite. For jobs that several replicas start by their own clocks: with a time longer than the clocks differ, only one
   * of them runs the job.
   *
   * A `release()` before that time ends the handle and resolves at once, to `"still-held"`. The provider gives the lock
   * back when the time is over, and `close()` gives it back at once. What remains when the process ends without
   * `close()`: on Redis the lease, which is extended at the release where it would end earlier; on ZooKeeper and in memory
   * nothing, since the node goes with the session. An error of the holder's work changes nothing: the lock stays taken.
   *
   * A re-entry counts its time from when it entered, and the later end applies. `downgrade()` hands the time on to the read.
   * Elections and multi-locks refuse it with `InvalidArgumentError`, as does `renew: false` with a shorter `leaseMs`.
   */
  holdAtLeastMs?: Millis;

  /** Shown to operators by `inspect()`, by other processes only with the provider's `identity`. Never interpreted. */
  label?: string;
}

export interface ScopeContext {
  /** Aborts on loss, or when the caller's own `signal` aborts. Pass it to everything the body awaits. */
  readonly signal: AbortSignal;
}

export interface WithLockOptions extends AcquireOptions {
  /**
   * What the promise does when the hold was lost while the body ran and the body still fulfilled.
   * `"reject"` (default): `LockLostError` carrying the body's value. `"ignore"`: the body's value.
   */
  onLoss?: "reject" | "ignore";
}

/** The verbs every exclusive lock has. Options come before the body, so that they are read first. */
export interface Acquirable {
  /** Waits. Rejects with `AcquireTimeoutError` after `waitMs`, or with `signal.reason`. */
  acquire(options?: AcquireOptions): Promise<LockHandle>;

  /** `null` when not granted within `waitMs` (default 0). Contention is not an error; outages still reject. */
  tryAcquire(options?: AcquireOptions): Promise<LockHandle | null>;

  withLock<T>(body: (lock: LockHandle, context: ScopeContext) => PromiseLike<T> | T): Promise<T>;
  withLock<T>(
    options: WithLockOptions,
    body: (lock: LockHandle, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T>;
}
