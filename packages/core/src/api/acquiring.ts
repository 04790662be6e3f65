import type { LockHandle } from "./handle.js";
import type { AnyToken, FenceBy, Millis } from "./values.js";

/**
 * What one acquire asks for, and what the views of a provider take as defaults for each of their calls. Unknown
 * options and values of a wrong type or range are an `InvalidArgumentError`: factories throw it, and calls reject
 * with it.
 */
export interface AcquireOptions {
  /**
   * Longest wait for the grant, in milliseconds. `Infinity` (the default) sets no limit; `signal` can end the wait. `0` asks
   * once: connecting and the answer of the server may together take up to the provider's `connectTimeoutMs`.
   *
   * The limit is on the whole call, whatever the server does: the promise settles when it is reached, and what is left of
   * the request is taken back in the background. The next acquire of this name by this provider waits for that, so
   * nothing is granted twice.
   *
   * `AcquireTimeoutError` means contention; its `cause` names anything else that was in the way. A call in which no server has
   * answered, or that has no connection, rejects with `BackendError` (RedLock: `QuorumError`): after `waitMs` or after the
   * time that `ProviderOptions.connectTimeoutMs` describes, whichever is shorter.
   */
  waitMs?: Millis;

  /**
   * Ends the wait: the promise rejects with `signal.reason` at once, whatever the server does. Once the lock is granted it has
   * no effect on the hold, and the body of a scope (`withLock`) gets the abort by its own `signal`. So a time-out that is
   * meant for the wait alone belongs in `waitMs`. Default: none.
   */
  signal?: AbortSignal;

  /**
   * How long the backend keeps the hold after the last renewal that reached it. Milliseconds, finite; on Redis 100 or more,
   * on RedLock at most `maxLeaseMs`. Default: the provider's `leaseMs`, which is 30,000 unless it is set. Only where
   * `capabilities.lease` is `"ttl"`: elsewhere, as on ZooKeeper and in memory, giving it is an `UnsupportedError`.
   */
  leaseMs?: Millis;

  /**
   * `true` (default): the provider renews the hold until it is released. `false`: the hold ends `leaseMs` after its grant,
   * whatever the holder does. Where there is no lease, `false` is an `UnsupportedError`.
   */
  renew?: boolean;

  /** Whether `LockHandle.revokeRequested` aborts when another client asks for the lock. Default `false`. */
  revocable?: boolean;

  /**
   * The shortest time for which the lock stays taken after its grant, even if its holder releases it earlier. Milliseconds,
   * finite; default 0. For jobs that several replicas start by their own clocks: with a time longer than the clocks differ,
   * only one of them runs the job.
   *
   * A `release()` before that time ends the handle and resolves at once, to `"still-held"`. The provider gives the lock back
   * when the time is over, and `close()` gives it back at once. If the process ends without `close()`, the lease remains on
   * Redis; the release extends it where it would end earlier. On ZooKeeper and in memory nothing remains, since the node goes
   * with the session. An error in the holder's work changes nothing: the lock stays taken.
   *
   * A re-entry counts its time from its own start, and the later end applies. `downgrade()` passes the time on to the read.
   * The option is an `InvalidArgumentError` for elections and multi-locks, and with `renew: false` and a shorter `leaseMs`.
   */
  holdAtLeastMs?: Millis;

  /**
   * `true`: asks the backend for a new grant, also where the provider keeps the lock (`ProviderOptions.keepMs`). The kept
   * lock is given back first. For a caller that needs a fencing token of its own, or must know that the lock was free.
   * Default `false`. Makes no difference where nothing is kept. An `InvalidArgumentError` for elections and multi-locks.
   */
  fresh?: boolean;

  /**
   * A text for operators, which `inspect()` shows; other processes see it only with the provider's `identity`. Never
   * interpreted. Default: none.
   */
  label?: string;
}

/** What a view of a mutex or of a read-write lock takes: defaults for its calls, and how its locks are kept. */
export interface LockViewOptions extends AcquireOptions {
  /**
   * The `ProviderOptions.keepMs` of this view. `0`: the view keeps nothing, and is lent nothing. Milliseconds, finite;
   * default: that of the provider. A view can change the value but cannot turn keeping on: where the provider's `keepMs` is
   * 0, a value above 0 is an `InvalidArgumentError`. On a read-write lock it applies to the write side.
   */
  keepMs?: Millis;
  /** The `ProviderOptions.fenceBy` of this view. Default: that of the provider. */
  fenceBy?: FenceBy;
}

/** What the body of a scope (`withLock`, `withPermit`, `lead`) gets besides its handle. */
export interface ScopeContext {
  /** Aborts when the hold is lost, or when the caller's own `signal` aborts. Pass it to everything that the body awaits. */
  readonly signal: AbortSignal;
}

/** Options of an acquire whose hold is given back when the body has ended. */
export interface WithLockOptions extends AcquireOptions {
  /**
   * What the promise does when the hold was lost while the body ran, and the body fulfilled nevertheless. `"reject"` (default):
   * it rejects with a `LockLostError` that carries the body's value. `"ignore"`: it resolves with the body's value.
   */
  onLoss?: "reject" | "ignore";
}

/** The methods of every exclusive lock. Options come before the body, so that people read them first. */
export interface Acquirable<Token extends AnyToken = AnyToken> {
  /**
   * Waits for the lock and resolves with a handle, which the caller has to release. Rejects with
   *
   * - `AcquireTimeoutError`: `waitMs` has passed, and a server had said that the request has to wait;
   * - `signal.reason`: `signal` aborted before the grant;
   * - `BackendError`: no server has answered, or there is no connection, within the time that
   *   `ProviderOptions.connectTimeoutMs` describes, or within `waitMs` where that is shorter and not 0; an outage has cost the
   *   place in the queue; or the server refuses (`retryable` is then `false`);
   * - `QuorumError`: RedLock did not have the answers of a majority of its nodes in time;
   * - `EvictedError`: another client deleted the entry in the queue while our own session lived;
   * - `DeadlockError`: the caller's own scope holds what this call would wait for (see `Mutex` and `ReentrantMutex`);
   * - `LockLostError`: a re-entrant owner enters again, and its hold is lost;
   * - `LayoutConflictError`: another kind of lock, or something foreign, uses this name in the backend;
   * - `UnsupportedError`: the backend does not have this option, such as `leaseMs` on ZooKeeper;
   * - `InvalidArgumentError`: an option is unknown or wrong;
   * - `ProviderClosedError`: `close()` was called before or meanwhile.
   *
   * When it rejects, nothing is held, and what is left of the request is taken back in the background.
   *
   * Curator: `InterProcessLock.acquire()`. Redisson: `RLock.lock()`.
   *
   * @example
   * ```ts
   * await using lock = await locks.mutex("orders/42").acquire({ waitMs: 2_000 });
   * await charge(order, { fence: lock.token, signal: lock.lost });
   * ```
   */
  acquire(options?: AcquireOptions): Promise<LockHandle<Token>>;

  /**
   * Like `acquire()`, but resolves to `null` instead of rejecting with `AcquireTimeoutError`. `waitMs` defaults to 0
   * here, whatever the defaults of view and provider say: the server is asked once, which takes up to
   * `connectTimeoutMs`. All other errors of `acquire()` reject here too: an outage is not the same as a lock that is
   * taken.
   *
   * Curator: `InterProcessLock.acquire(time, unit)`. Redisson: `RLock.tryLock()`.
   *
   * @example
   * ```ts
   * await using lock = await locks.mutex("nightly-report").tryAcquire();
   * if (lock !== null) await makeReport(lock.lost); // null: another process has the lock
   * ```
   */
  tryAcquire(options?: AcquireOptions): Promise<LockHandle<Token> | null>;

  /** `withLock(options, body)` with the options of the view and of the provider alone. */
  withLock<T>(body: (lock: LockHandle<Token>, context: ScopeContext) => PromiseLike<T> | T): Promise<T>;
  /**
   * Acquires the lock, runs `body`, and releases the lock whatever the body does. Resolves with the value of the body.
   *
   * Rejects as `acquire()` does, and with `InvalidArgumentError` when `body` is not a function: the body has not run then.
   * Rejects with the body's own error, which takes precedence over everything that follows. Rejects with `LockLostError` when
   * the hold was lost while the body ran, and the body fulfilled nevertheless (its value is `LockLostError.value`; see
   * `onLoss`). A release that fails never replaces a result: the event `release-failed` reports it.
   *
   * @example
   * ```ts
   * const total = await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, async (lock, { signal }) => {
   *   return await charge(order, { fence: lock.token, signal }); // the signal aborts when the lock is lost
   * });
   * ```
   */
  withLock<T>(
    options: WithLockOptions,
    body: (lock: LockHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T>;

  /** `tryWithLock(options, body)` with the options of the view and of the provider alone. */
  tryWithLock<T>(
    body: (lock: LockHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T | null>;
  /**
   * Like `withLock()`, but resolves to `null`, without running the body, where `tryAcquire()` does: the lock was not granted
   * within `waitMs`, which defaults to 0 here. A `null` from the body cannot be distinguished from that: let such a body
   * return something else.
   *
   * @example
   * ```ts
   * const made = await locks.mutex("nightly-report").tryWithLock(async ({ lost }) => {
   *   await makeReport(lost);
   *   return true;
   * });
   * if (made === null) console.log("another process makes the report");
   * ```
   */
  tryWithLock<T>(
    options: WithLockOptions,
    body: (lock: LockHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T | null>;
}
