import type { FencingToken, HoldState, LockMode, Millis, Owner, ReleaseOutcome } from "./values.js";

/** One successful acquire. The only thing that can release it. Never constructed by callers. */
export interface LockHandle extends AsyncDisposable {
  readonly name: string;
  readonly mode: LockMode;
  readonly owner: Owner;

  /** `null` when the provider's `capabilities.fencing` is `"none"`. Equal for every re-entry of one hold. */
  readonly token: FencingToken | null;

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
   * Aborts once when somebody asks for the lock back (`requestRevoke()`, Curator's `Revoker`). Nothing is released by
   * itself. Never aborts unless acquired with `revocable: true`. Created on first read; no round trip before the grant.
   */
  readonly revokeRequested: AbortSignal;

  /**
   * Throws `LockLostError` once lost, and `NotHeldError` after `release()` or when the hold is known to be good for less than
   * `minimumMs` (default 0). Reads the clock, so it is right even when timers are late.
   */
  assertHeld(minimumMs?: Millis): void;

  /** Round trip to the backend now: renews where there is a lease; on ZooKeeper `sync` + `exists` through the leader. */
  confirm(options?: { signal?: AbortSignal }): Promise<void>;

  /**
   * Idempotent; concurrent calls share one request; never removes anyone else's hold. Before `holdAtLeastMs` has passed, and
   * while another handle has entered the same hold, resolves to `still-held` at once. Else settles at the first of: confirmed
   * (`released`), session or lease over (`lost`), `signal` or the provider's `releaseTimeoutMs` (`unconfirmed`: the
   * delete goes on in the background and `release-failed` tells). Rejects with `BackendError` only for an answer that
   * says no, such as NoAuth.
   */
  release(options?: { signal?: AbortSignal }): Promise<ReleaseOutcome>;

  /** `release()`, except that it never rejects: a failure goes to the `release-failed` event. */
  [Symbol.asyncDispose](): Promise<void>;
}
