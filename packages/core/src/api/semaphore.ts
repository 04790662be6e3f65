import type { AcquireOptions, ScopeContext, WithLockOptions } from "./acquiring.js";
import type { LockHandle } from "./handle.js";
import type { InspectOptions, SemaphoreSnapshot } from "./inspect.js";
import type { AnyToken } from "./values.js";

/**
 * A batch of permits. When one of them is gone, the whole batch is lost: `lost` aborts, and the permits that are
 * left are given back.
 */
export interface PermitHandle<Token extends AnyToken = AnyToken> extends Omit<LockHandle<Token>, "mode"> {
  /** How many permits the batch has. */
  readonly permits: number;
  /**
   * Backend ids, one for each permit, as `inspect` shows them: paths of Curator lease nodes, Redisson permit ids. A
   * `plainSemaphore`, whose batches may have millions, gives the first 10,000.
   */
  readonly permitIds: readonly string[];
}

/**
 * A number of permits that clients take and give back. On ZooKeeper it is Curator's `InterProcessSemaphoreV2`, on Redis
 * Redisson's `RPermitExpirableSemaphore`.
 */
export interface Semaphore<Token extends AnyToken = AnyToken> {
  /** The name as it was given to the provider. */
  readonly name: string;

  /**
   * Takes all `permits` (default 1) or none, with one handle for the batch. Rejects with `InvalidArgumentError` at once for
   * more permits than the limit, more than 10,000 (of `plainSemaphore` 2^31 - 1), or more than the backend can take in one
   * step. Where only the backend knows the limit, a request for more waits until the limit is raised. Rejects otherwise as
   * `Acquirable.acquire()` does, though never with `DeadlockError`.
   *
   * Curator: `InterProcessSemaphoreV2.acquire(qty)`.
   *
   * @example
   * ```ts
   * await using permit = await locks.semaphore("printers", 3).acquire({ waitMs: 10_000 });
   * await print(permit.lost);
   * ```
   */
  acquire(options?: AcquireOptions & { permits?: number }): Promise<PermitHandle<Token>>;
  /**
   * Like `acquire()`, but resolves to `null` when the permits were not granted within `waitMs`, which defaults to 0 here: the
   * server is asked once, which takes up to `connectTimeoutMs`. All other errors of `acquire()` reject here too.
   *
   * @example
   * ```ts
   * await using permit = await locks.semaphore("printers", 3).tryAcquire();
   * if (permit === null) console.log("all printers are busy");
   * else await print(permit.lost);
   * ```
   */
  tryAcquire(options?: AcquireOptions & { permits?: number }): Promise<PermitHandle<Token> | null>;

  /** `withPermit(options, body)` for one permit, with the options of the view and of the provider alone. */
  withPermit<T>(body: (permit: PermitHandle<Token>, context: ScopeContext) => PromiseLike<T> | T): Promise<T>;
  /**
   * Takes the permits, runs `body` and gives them back, as `Acquirable.withLock()` does with a lock. Two bodies that each
   * hold some permits and wait for more of the same semaphore may wait for each other, and get no `DeadlockError`. Ask for
   * all permits at once, or limit the wait.
   *
   * @example
   * ```ts
   * await locks.semaphore("printers", 3).withPermit({ waitMs: 10_000 }, (permit, { signal }) => print(signal));
   * ```
   */
  withPermit<T>(
    options: WithLockOptions & { permits?: number },
    body: (permit: PermitHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T>;

  /** `tryWithPermit(options, body)` for one permit, with the options of the view and of the provider alone. */
  tryWithPermit<T>(
    body: (permit: PermitHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T | null>;
  /**
   * Like `withPermit()`, but resolves to `null`, without running the body, where `tryAcquire()` does: see
   * `Acquirable.tryWithLock()`.
   *
   * @example
   * ```ts
   * const printed = await locks.semaphore("printers", 3).tryWithPermit(async ({ lost }) => {
   *   await print(lost);
   *   return true;
   * });
   * if (printed === null) console.log("all printers are busy");
   * ```
   */
  tryWithPermit<T>(
    options: WithLockOptions & { permits?: number },
    body: (permit: PermitHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T | null>;

  /**
   * The limit as the backend keeps it, or as it was given to this view where the backend keeps none (Curator). Rejects with
   * `BackendError` when there is no connection within `connectTimeoutMs` or the server refuses, and with `ProviderClosedError`.
   */
  limit(): Promise<number>;

  /**
   * Shows who holds permits and who waits for them, as `LockView.inspect()` does for a lock, with the same errors. `held` has
   * one entry for each permit, as the backend keeps them; `available` is how many permits of the limit are not held.
   *
   * @example
   * ```ts
   * const { limit, available } = await locks.semaphore("printers", 3).inspect();
   * console.log(`${available} of ${limit} printers are free`);
   * ```
   */
  inspect(options?: InspectOptions): Promise<SemaphoreSnapshot>;
}
