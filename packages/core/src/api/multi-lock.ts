import type { ScopeContext, WithLockOptions } from "./acquiring.js";
import type { LockHandle } from "./handle.js";

export interface MultiLockOptions extends Omit<WithLockOptions, "holdAtLeastMs"> {
  /** `"sorted"` (default) acquires by `name`, so that overlapping sets cannot deadlock. */
  order?: "sorted" | "given";
}

export interface MultiHandle extends LockHandle {
  /** In acquisition order. `token` of the whole is `null`: there is no single order over several names. */
  readonly parts: readonly LockHandle[];
}

export interface MultiLock {
  acquire(options?: MultiLockOptions): Promise<MultiHandle>;
  tryAcquire(options?: MultiLockOptions): Promise<MultiHandle | null>;
  withLock<T>(
    options: MultiLockOptions,
    body: (lock: MultiHandle, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T>;
}
