import type { AnyToken, LockMode } from "@holdfast/core";

/** What one request asks for: the standard's `LockOptions`. */
export interface WebLockOptions {
  /** `"exclusive"` (default): alone. `"shared"`: together with other holders that ask for it shared. */
  mode?: LockMode;
  /** `true`: the callback is called with `null` where the lock cannot be granted at once. Default `false`. */
  ifAvailable?: boolean;
  /**
   * `true`: the present holders lose the lock, and this request is the next one of this manager. Default `false`. Holders of other managers
   * are asked to release, which their managers do at once; waiters of other managers keep their places before this request.
   * Where a holder releases by itself in that moment, this request may be granted and reached by its own request to release.
   * It then asks for the lock again. If it notices too late, mostly on Redis, it rejects with `AbortError`.
   */
  steal?: boolean;
  /** Ends the wait: the request rejects with `signal.reason`. Has no effect once the lock is granted. */
  signal?: AbortSignal;
}

/** A granted lock: the standard's `Lock`, with what a lock over a network needs beside it. */
export interface WebLock<Token extends AnyToken = AnyToken> {
  /** The name as it was requested. */
  readonly name: string;
  /** The mode as it was requested. */
  readonly mode: LockMode;
  /** The fencing token of the grant, for the resource to refuse late writers; `null` where the provider has none. */
  readonly token: Token;
  /**
   * Aborts when the lock ends before its callback has ended: because it was stolen, or lost with the session or the lease.
   * Pass it to everything that the callback awaits.
   */
  readonly lost: AbortSignal;
}

/** The function that is called with the granted lock. The lock is held until the function's result has settled. */
export type WebLockCallback<Lock, T> = (lock: Lock) => T | PromiseLike<T>;

/** One lock that is held or asked for: the standard's `LockInfo`. */
export interface WebLockInfo {
  /** The name as it was requested. */
  readonly name: string;
  /** The mode as it was requested. */
  readonly mode: LockMode;
  /**
   * The id of the client. For this manager, and for others on the same provider, the `id` of the provider; for another
   * client its session, or another id in the backend.
   */
  readonly clientId: string;
}

/** What was held and asked for at one moment: the standard's `LockManagerSnapshot`. */
export interface WebLockSnapshot {
  /** The holds of this manager, and those of other clients on the names that this manager holds or asks for. */
  readonly held: readonly WebLockInfo[];
  /** The requests of this manager that wait, in their order. */
  readonly pending: readonly WebLockInfo[];
}

/** The standard's `LockManager`, such as `navigator.locks` is, over a provider. */
export interface WebLockManager<Token extends AnyToken = AnyToken> {
  /**
   * Waits for the lock, and calls `callback` with it. When the result of the callback has settled, the lock is given back
   * and the request settles with the same result.
   *
   * It rejects as the standard says. It rejects with `NotSupportedError` (a `DOMException`) for a name that begins with `-`
   * and for options that exclude each other, and with `TypeError` for a value that is no callback, mode or signal. It
   * rejects with `signal.reason`, with `AbortError` once the lock is stolen, and with what the callback threw. Beyond the
   * standard it rejects with `LockLostError` as soon as the lock is lost, and with what `acquire()` of the provider rejects
   * with, such as `BackendError` and `ProviderClosedError`. The callback of a lock that was stolen or lost goes on; its
   * signal `lock.lost` is aborted.
   *
   * @example
   * ```ts
   * import { webLocks } from "@holdfast/web-locks";
   *
   * await webLocks(locks).request("prices", async ({ token, lost }) => {
   *   await rebuildPrices(lost);
   *   console.log("rebuilt under", token);
   * });
   * ```
   */
  request<T>(name: string, callback: WebLockCallback<WebLock<Token>, T>): Promise<T>;
  /** Like the form above, with options; `null` and `undefined` are the defaults. The callback gets `null` only with `ifAvailable`. */
  request<T>(
    name: string,
    options: (WebLockOptions & { ifAvailable?: false }) | null | undefined,
    callback: WebLockCallback<WebLock<Token>, T>,
  ): Promise<T>;
  /** Like the form above, with `ifAvailable`: the callback gets `null` where the lock cannot be granted at once. */
  request<T>(
    name: string,
    options: WebLockOptions,
    callback: WebLockCallback<WebLock<Token> | null, T>,
  ): Promise<T>;

  /**
   * What this manager holds and waits for, and which other clients hold those names, at a moment that is already past.
   * Rejects with what `inspect()` of the provider's locks rejects with.
   *
   * @example
   * ```ts
   * import { webLocks } from "@holdfast/web-locks";
   *
   * const { held, pending } = await webLocks(locks).query();
   * console.log(held.map(({ name }) => name), `${pending.length} waiting`);
   * ```
   */
  query(): Promise<WebLockSnapshot>;
}
