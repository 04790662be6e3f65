import type { Acquirable, AcquireOptions, ScopeContext, WithLockOptions } from "./acquiring.js";
import type { LockHandle } from "./handle.js";
import type { InspectOptions, LockSnapshot } from "./inspect.js";
import type { AnyToken, Owner } from "./values.js";

/** What can be asked about a named lock without taking it. */
export interface LockView {
  /** The name as it was given to the provider's method. */
  readonly name: string;
  /**
   * Shows which clients hold this lock and which wait for it, of all libraries, as the backend has it now. The answer is
   * already old when it arrives: it is for people, and never a basis for deciding who may act.
   *
   * Rejects with `BackendError` when there is no connection within `connectTimeoutMs` or the server refuses, with `QuorumError`
   * where RedLock gets answers from less than a majority, with `signal.reason`, `InvalidArgumentError` and `ProviderClosedError`.
   *
   * Curator: `InterProcessMutex.getParticipantNodes()`, with more of each participant.
   *
   * @example
   * ```ts
   * const { held, pending } = await locks.mutex("orders/42").inspect({ maxPending: 10 });
   * for (const { label, address, sinceMs } of held) console.log("held by", label ?? address, sinceMs.value);
   * console.log(`${pending.length} are shown as waiting`);
   * ```
   */
  inspect(options?: InspectOptions): Promise<LockSnapshot>;

  /**
   * Asks every present holder to release the lock, as Curator's `Revoker.attemptRevoke()` does. Resolves to `false` when
   * there is no holder, or none that can be asked (a Redisson holder). Cooperative: a holder that acquired without
   * `revocable` does not notice, and `true` does not mean that the lock becomes free.
   *
   * Rejects with `UnsupportedError` where the backend cannot ask holders of this kind of lock, with `BackendError` when there
   * is no connection within `connectTimeoutMs` or the server refuses, with `QuorumError` where RedLock gets answers from less
   * than a majority, with `signal.reason`, `InvalidArgumentError` and `ProviderClosedError`.
   *
   * @example
   * ```ts
   * const asked = await locks.mutex("orders/42").requestRevoke();
   * if (!asked) console.log("there is no holder that can be asked");
   * ```
   */
  requestRevoke(options?: { signal?: AbortSignal }): Promise<boolean>;
}

/**
 * One holder at a time, on the nodes of Curator's `InterProcessMutex` or the keys of Redisson's `RLock`.
 *
 * Not re-entrant. Acquiring it again inside its own `withLock` body rejects with `DeadlockError` where the provider has the
 * option `detectDeadlocks`. Without that option the inner call waits for ever unless `waitMs` or `signal` bounds it, and the
 * process warning `HF_SELF_WAIT` says so after 5 s. Use `reentrantMutex` to enter again.
 */
export interface Mutex<Token extends AnyToken = AnyToken> extends Acquirable<Token>, LockView {}

/**
 * What one acquire of a re-entrant lock asks for. A re-entry asks the backend for nothing and shares the hold that its owner
 * has: `leaseMs`, `renew`, `label` and `fresh` change nothing there. `waitMs`, `signal` and `holdAtLeastMs` count for each call.
 * `revokeRequested` aborts only if both the acquire of the hold and the re-entry had `revocable`.
 */
export interface ReentrantAcquireOptions extends AcquireOptions {
  /**
   * The owner to acquire for. Without it `acquire()` and `tryAcquire()` use a new owner each time. Only calls in `withLock`
   * bodies inherit an owner, because only a scope can give it back.
   */
  owner?: Owner;
}

/**
 * Re-entry for one owner in this process. An owner with the same `id` in another process is another owner, and waits for
 * the lock as any other client does.
 */
export interface ReentrantAcquirable<Token extends AnyToken = AnyToken> extends Acquirable<Token> {
  /**
   * Like `Acquirable.acquire()`, with all its errors. An owner that holds the lock already gets one more handle at
   * once, without a request to the backend; the backend is asked to release when the last of its handles is released.
   * While the hold is in doubt the call waits for contact, and rejects with `LockLostError` when the hold is lost
   * instead.
   *
   * @example
   * ```ts
   * await using outer = await locks.reentrantMutex("orders/42").acquire();
   * await using inner = await locks.reentrantMutex("orders/42").acquire({ owner: outer.owner }); // at once
   * await charge(order, { fence: inner.token, signal: inner.lost });
   * ```
   */
  acquire(options?: ReentrantAcquireOptions): Promise<LockHandle<Token>>;
  /** Like `Acquirable.tryAcquire()`, with all its errors; an owner that holds the lock already gets one more handle. */
  tryAcquire(options?: ReentrantAcquireOptions): Promise<LockHandle<Token> | null>;
  /** `withLock(options, body)` with the options of the view and of the provider alone. */
  withLock<T>(body: (lock: LockHandle<Token>, context: ScopeContext) => PromiseLike<T> | T): Promise<T>;
  /**
   * Like `Acquirable.withLock()`. A call that is made in the body of another `withLock` of this lock enters for the same
   * owner. Of several such calls at once, one runs at a time, unless all of them only read. Such a call rejects with
   * `LockLostError` when the hold of the outer body is lost.
   *
   * @example
   * ```ts
   * const mutex = locks.reentrantMutex("orders/42");
   * await mutex.withLock({ waitMs: 2_000 }, async () => {
   *   await mutex.withLock((lock) => charge(order, { fence: lock.token, signal: lock.lost })); // enters at once
   * });
   * ```
   */
  withLock<T>(
    options: WithLockOptions & { owner?: Owner },
    body: (lock: LockHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T>;

  /** `tryWithLock(options, body)` with the options of the view and of the provider alone. */
  tryWithLock<T>(
    body: (lock: LockHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T | null>;
  /** Like `Acquirable.tryWithLock()`; an owner that holds the lock already enters at once, as with `withLock()`. */
  tryWithLock<T>(
    options: WithLockOptions & { owner?: Owner },
    body: (lock: LockHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T | null>;

  /**
   * How many handles on this lock, or on this side of a read-write lock, `owner` has open in this process. Default: the owner
   * of the running scope; outside of a scope the result is 0. Local and synchronous.
   */
  holdCount(owner?: Owner): number;
}

/**
 * A mutex that its owner may take again: Curator's `InterProcessMutex`, Redisson's `RLock`. Re-entry is counted in
 * this process, and the backend sees one hold.
 *
 * `acquire()` in a `withLock` body of the same lock asks for a new owner, which would wait for the scope. So it rejects with
 * `DeadlockError`, unless it is given the owner of that scope's handle or asks with `waitMs: 0`.
 */
export interface ReentrantMutex<Token extends AnyToken = AnyToken>
  extends ReentrantAcquirable<Token>,
    LockView {}
