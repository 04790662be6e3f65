import type { Acquirable, ScopeContext, WithLockOptions } from "./acquiring.js";
import type { LockHandle } from "./handle.js";
import type { AnyToken } from "./values.js";

/**
 * The options of a `withLock`, for all parts together and without `holdAtLeastMs`. `waitMs` is one time for all of them, in
 * milliseconds; default: the shortest default of the parts. `signal` ends the wait for all of them; default: the first abort
 * of a signal that a part has as its default.
 */
export interface MultiLockOptions extends Omit<WithLockOptions, "holdAtLeastMs" | "fresh"> {
  /** `"sorted"` (default) acquires by `name`, so that overlapping sets cannot deadlock. */
  order?: "sorted" | "given";
}

/** What can be a part of a multi-lock: any lock of this library, or an object of your own with these two methods and a `name`. */
export type MultiLockPart<Token extends AnyToken = AnyToken> = Pick<
  Acquirable<Token>,
  "acquire" | "tryAcquire"
>;

/**
 * Several holds as one. It is lost as soon as one part is lost, and then gives the other parts back. `owner` is that of the
 * first part, `name` lists the names of all parts. Curator: a held `InterProcessMultiLock`.
 */
export interface MultiHandle<Token extends AnyToken = AnyToken> extends LockHandle<null> {
  /** In acquisition order, each with its token. `token` of the whole is `null`: there is no single order over several names. */
  readonly parts: readonly LockHandle<Token>[];
}

/**
 * Several locks as one: all of them or none. Made by `multiLock()` of `@holdfast/multi-lock`. Curator:
 * `InterProcessMultiLock`.
 */
export interface MultiLock<Token extends AnyToken = AnyToken> {
  /**
   * Takes all parts within one `waitMs`. When it rejects, all parts that were taken are given back. Rejects as
   * `Acquirable.acquire()` of any part does: with `AcquireTimeoutError`, which names the first part that was missing, with
   * `signal.reason`, `BackendError`, `QuorumError`, `DeadlockError`, `LayoutConflictError`, `UnsupportedError`,
   * `InvalidArgumentError` (also for `holdAtLeastMs`), with `EvictedError` when another client deleted a part while the call
   * waited for the others, and with `ProviderClosedError` when the provider of a part is closed.
   *
   * @example
   * ```ts
   * import { multiLock } from "@holdfast/multi-lock";
   *
   * const both = multiLock([locks.mutex("accounts/7"), locks.mutex("accounts/9")]);
   * await using held = await both.acquire({ waitMs: 5_000 });
   * const [seven, nine] = held.parts; // in the order of their names
   * await move({ from: { id: 7, fence: seven.token }, to: { id: 9, fence: nine.token }, signal: held.lost });
   * ```
   */
  acquire(options?: MultiLockOptions): Promise<MultiHandle<Token>>;
  /**
   * Like `acquire()`, but resolves to `null` when a part was not granted within `waitMs`, which defaults to 0 here. All other
   * errors of `acquire()` reject here too.
   */
  tryAcquire(options?: MultiLockOptions): Promise<MultiHandle<Token> | null>;
  /** `withLock(options, body)` with the options of the parts alone. */
  withLock<T>(body: (lock: MultiHandle<Token>, context: ScopeContext) => PromiseLike<T> | T): Promise<T>;
  /**
   * Acquires all parts, runs `body` and releases them whatever the body does, as `Acquirable.withLock()`: with the
   * same errors, and with `LockLostError` when a part was lost while the body ran.
   *
   * @example
   * ```ts
   * import { multiLock } from "@holdfast/multi-lock";
   *
   * const both = multiLock([locks.mutex("accounts/7"), locks.mutex("accounts/9")]);
   * await both.withLock({ waitMs: 5_000 }, (_, { signal }) => makeReport(signal));
   * ```
   */
  withLock<T>(
    options: MultiLockOptions,
    body: (lock: MultiHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T>;

  /** `tryWithLock(options, body)` with the options of the parts alone. */
  tryWithLock<T>(
    body: (lock: MultiHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T | null>;
  /**
   * Like `withLock()`, but resolves to `null`, without running the body, where `tryAcquire()` does: see
   * `Acquirable.tryWithLock()`.
   */
  tryWithLock<T>(
    options: MultiLockOptions,
    body: (lock: MultiHandle<Token>, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T | null>;
}
