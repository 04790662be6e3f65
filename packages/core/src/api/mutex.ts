import type { Acquirable, AcquireOptions, ScopeContext, WithLockOptions } from "./acquiring.js";
import type { LockHandle } from "./handle.js";
import type { InspectOptions, LockSnapshot } from "./inspect.js";
import type { Owner } from "./values.js";

/** What every named lock shows and hears. */
export interface LockView {
  readonly name: string;
  inspect(options?: InspectOptions): Promise<LockSnapshot>;

  /**
   * Asks every present holder to let go. `false` when there is none, or none that can be told (a Redisson holder).
   * Cooperative: a holder that did not say `revocable` does not notice.
   */
  requestRevoke(options?: { signal?: AbortSignal }): Promise<boolean>;
}

/**
 * Not re-entrant. Acquiring it again inside its own `withLock` body rejects with `DeadlockError` where the provider has the option
 * `detectDeadlocks`. Without that option the inner call waits for ever unless `waitMs` or `signal` bounds it, and the process warning
 * `HF_SELF_WAIT` says so after 5 s. Use `reentrantMutex` to enter again.
 */
export interface Mutex extends Acquirable, LockView {}

export interface ReentrantAcquireOptions extends AcquireOptions {
  /**
   * Acquire for this owner. Without it `acquire()` and `tryAcquire()` take a fresh owner each time: only
   * `withLock` bodies inherit one, because only a scope can give it back.
   */
  owner?: Owner;
}

/** Re-entry for one owner in this process. In another process the same `owner` is a stranger and is kept out. */
export interface ReentrantAcquirable extends Acquirable {
  acquire(options?: ReentrantAcquireOptions): Promise<LockHandle>;
  tryAcquire(options?: ReentrantAcquireOptions): Promise<LockHandle | null>;
  withLock<T>(body: (lock: LockHandle, context: ScopeContext) => PromiseLike<T> | T): Promise<T>;
  withLock<T>(
    options: WithLockOptions & { owner?: Owner },
    body: (lock: LockHandle, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T>;

  /** Holds of `owner` (default: the owner of the running scope) in this process. */
  holdCount(owner?: Owner): number;
}

export interface ReentrantMutex extends ReentrantAcquirable, LockView {}
