import type { AnyToken, HoldState, LockMode, Millis, Owner, ReleaseOutcome } from "./values.js";

/** What one release asks for. */
export interface ReleaseOptions {
  /** Ends the wait for the answer: the promise resolves to `unconfirmed`, and the request goes on. Default: none. */
  signal?: AbortSignal;
  /** `false`: gives the lock back also where the provider would keep it (`keepMs`). Default `true`. */
  keep?: boolean;
}

/**
 * What a successful acquire returns, and the only thing that can release its hold. Callers never construct one.
 *
 * `console.log` and `JSON.stringify` show its name, mode, state, owner, token, turn and `remainingMs`; JSON has the token as
 * a decimal string. With `keepMs` and `fenceBy: "token"`, `JSON.stringify` counts as a read of the token.
 */
export interface LockHandle<Token extends AnyToken = AnyToken> extends AsyncDisposable {
  /** The name of the lock, as it was given to the provider. */
  readonly name: string;
  /** `"shared"` for a read lock and for permits of a semaphore, `"exclusive"` for all others. */
  readonly mode: LockMode;
  /** The owner that it was acquired for. The provider makes a new one unless a re-entrant lock was given one. */
  readonly owner: Owner;

  /**
   * The fencing token. `null` when the provider's `capabilities.fencing` is `"none"`, and only then: a provider that always
   * has a token is a `LockProvider<FencingToken>`. All re-entries of one hold have the same token.
   *
   * With `keepMs` and `fenceBy: "token"` read it while the handle is held. A token that was read is shown to no second owner,
   * so the release of its handle gives the lock back. A handle that was released unread throws `NotHeldError` here from then
   * on. On Redis each owner of a kept lock has a token of its own, larger than all before it, and none of this applies.
   */
  readonly token: Token;

  /**
   * How many owners had the lock under this `token` before this one. It is above 0 only where the provider keeps locks
   * (`keepMs`) whose owners share a token, as on ZooKeeper. At most 65,535. With `fenceBy: "token-and-turn"` a resource
   * compares it after the token.
   */
  readonly turn: number;

  /**
   * The state of the hold, by the clock, so it is right even when timers are late. Reading it sends nothing;
   * `confirm()` asks the backend.
   */
  readonly state: HoldState;

  /** Milliseconds for which the hold is known to be good, by the monotonic clock; 0 once lost or released. */
  remainingMs(): Millis;

  /**
   * Aborts once, with a `LockLostError` as reason, when the hold can no longer be relied on. Never aborts
   * because of `release()`. Created on first read, so that a handle whose signal is not read does not pay for it. Its
   * listeners run outside of every `withLock` scope, as those of all signals of this library.
   */
  readonly lost: AbortSignal;

  /**
   * Aborts once when another client asks for the lock (`requestRevoke()`, Curator's `Revoker`). Releases nothing by
   * itself: the holder decides. Never aborts unless acquired with `revocable: true`. Created on first read; costs no round
   * trip before the grant.
   *
   * @example
   * ```ts
   * await using lock = await locks.mutex("search-index").acquire({ revocable: true });
   * await rebuildIndex(AbortSignal.any([lock.lost, lock.revokeRequested])); // stops when either aborts
   * ```
   */
  readonly revokeRequested: AbortSignal;

  /**
   * Throws `LockLostError` once lost, and `NotHeldError` after `release()` or when the hold is known to be good for
   * less than `minimumMs` (milliseconds, default 0). Throws `InvalidArgumentError` for a negative number or `NaN`.
   * Reads the clock, so it is right even when timers are late. Sends nothing.
   *
   * @example
   * ```ts
   * lock.assertHeld(500); // throws unless the lock is good for another 500 ms
   * await charge(order, { fence: lock.token, signal: lock.lost });
   * ```
   */
  assertHeld(minimumMs?: Millis): void;

  /**
   * Asks the backend now whether the hold still stands, and resolves when it does. This takes one round trip: a renewal where
   * there is a lease; on ZooKeeper a `sync` through the leader and a look at our own node.
   *
   * Rejects with `LockLostError` when the hold is lost, with `NotHeldError` after `release()`, with `BackendError` or
   * `QuorumError` when there was no answer (the hold is then as good as `remainingMs()` says), with `signal.reason`, and
   * with `InvalidArgumentError` for an option that is unknown or wrong.
   *
   * @example
   * ```ts
   * await lock.confirm(); // rejects when the lock is not ours any more
   * await sendTheLetter();
   * ```
   */
  confirm(options?: { signal?: AbortSignal }): Promise<void>;

  /**
   * Gives the hold back. Idempotent; concurrent calls share one request; never removes the hold of another client. Before
   * `holdAtLeastMs` has passed, and while another handle has entered the same hold, resolves to `still-held` at once.
   * Otherwise it resolves at the first of: the backend has confirmed (`released`); the session or the lease is over
   * (`lost`); `signal` aborts or the provider's `releaseTimeoutMs` has passed (`unconfirmed`: the request goes on in the
   * background, and the event `release-failed` reports it). Rejects with `BackendError` only where the server refuses, such
   * as NoAuth, and with `InvalidArgumentError` for an option that is unknown or wrong: then nothing is given back.
   *
   * Where the provider keeps locks (`keepMs`) it may resolve to `kept` at once, without a request. The lock then stays taken
   * for the next owner of this provider, until another client wants it. `kept` does not say whether the hold stood until
   * then; ask that with `confirm()`. `keep: false` gives the lock back in any case. Default `true`.
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
  release(options?: ReleaseOptions): Promise<ReleaseOutcome>;

  /** Like `release()`, but it never rejects: the event `release-failed` reports a failure. */
  [Symbol.asyncDispose](): Promise<void>;
}
