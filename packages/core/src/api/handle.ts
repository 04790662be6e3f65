import type { FencingToken, HoldState, LockMode, Millis, Owner, ReleaseOutcome } from "./values.js";

/** One successful acquire. The only thing that can release it. Never constructed by callers. */
export interface LockHandle extends AsyncDisposable {
  /** The name of the lock, as it was given to the provider. */
  readonly name: string;
  /** `"shared"` for a read lock and for permits of a semaphore, `"exclusive"` for all others. */
  readonly mode: LockMode;
  /** For whom it was acquired. Drawn fresh by the provider unless a re-entrant lock was given one. */
  readonly owner: Owner;

  /** `null` when the provider's `capabilities.fencing` is `"none"`. Equal for every re-entry of one hold. */
  readonly token: FencingToken | null;

  /**
   * Reads the clock, so it is right even when timers are late. What only the backend knows it does not show:
   * `confirm()` asks.
   */
  readonly state: HoldState;

  /** Milliseconds for which the hold is known to be good, by the monotonic clock; 0 once lost or released. */
  remainingMs(): Millis;

  /**
   * Aborts once, with a `LockLostError` as reason, when the hold can no longer be relied on. Never aborts
   * because of `release()`. Created on first read, so an unwatched handle does not pay for it. Its listeners are in no
   * scope of a `withLock`, as those of all signals of this library.
   */
  readonly lost: AbortSignal;

  /**
   * Aborts once when the lock is asked back (`requestRevoke()`, Curator's `Revoker`). Nothing is released by
   * itself. Never aborts unless acquired with `revocable: true`. Created on first read; no round trip before the grant.
   */
  readonly revokeRequested: AbortSignal;

  /**
   * Throws `LockLostError` once lost, and `NotHeldError` after `release()` or when the hold is known to be good for
   * less than `minimumMs` (milliseconds, default 0). Throws `InvalidArgumentError` for a negative number or `NaN`.
   * Reads the clock, so it is right even when timers are late.
   */
  assertHeld(minimumMs?: Millis): void;

  /**
   * Asks the backend now whether the hold still stands, and resolves when it does: one round trip, which renews where
   * there is a lease; on ZooKeeper `sync` through the leader and a look at the own node.
   *
   * Rejects with `LockLostError` when the hold is lost, with `NotHeldError` after `release()`, with `BackendError` or
   * `QuorumError` when there was no answer (the hold is then as good as `remainingMs()` says), and with
   * `signal.reason`.
   *
   * @example
   * ```ts
   * await lock.confirm(); // rejects when the lock is not ours any more
   * await sendTheLetter();
   * ```
   */
  confirm(options?: { signal?: AbortSignal }): Promise<void>;

  /**
   * Gives the hold back. Idempotent; concurrent calls share one request; never removes anyone else's hold. Before
   * `holdAtLeastMs` has passed, and while another handle has entered the same hold, resolves to `still-held` at once.
   * Else settles at the first of: confirmed (`released`), session or lease over (`lost`), `signal` or the provider's
   * `releaseTimeoutMs` (`unconfirmed`: the delete goes on in the background, and the event `release-failed` reports
   * it). Rejects with `BackendError` only for an answer that says no, such as NoAuth, and with `InvalidArgumentError`
   * for a `signal` that is none.
   *
   * Curator: `InterProcessLock.release()`. Redisson: `RLock.unlock()`.
   *
   * @example
   * ```ts
   * const lock = await locks.mutex("orders/42").acquire();
   * try {
   *   await work(lock.lost);
   * } finally {
   *   await lock.release();
   * }
   * ```
   */
  release(options?: { signal?: AbortSignal }): Promise<ReleaseOutcome>;

  /** `release()`, except that it never rejects: a failure goes to the `release-failed` event. */
  [Symbol.asyncDispose](): Promise<void>;
}
