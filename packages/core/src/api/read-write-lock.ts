import type { Acquirable, AcquireOptions } from "./acquiring.js";
import type { LockHandle } from "./handle.js";
import type { LockView, ReentrantAcquirable } from "./mutex.js";

export interface ReadWriteLock extends LockView {
  readonly read: ReadLock;
  readonly write: WriteLock;
}

export type ReadLock = Acquirable;

export interface WriteLock extends Acquirable {
  acquire(options?: AcquireOptions): Promise<WriteHandle>;
  tryAcquire(options?: AcquireOptions): Promise<WriteHandle | null>;
}

export interface WriteHandle extends LockHandle {
  /**
   * Takes the read lock before giving up the write lock, without a gap. This handle becomes `released`.
   * There is no upgrade: two readers upgrading wait for each other.
   */
  downgrade(options?: { signal?: AbortSignal }): Promise<LockHandle>;
}

/**
 * Scopes and `owner` as in `ReentrantMutex`, counted for each side. A writer may take read; releasing the write first is
 * the downgrade. `write.acquire` by an owner that only reads rejects with `DeadlockError`.
 */
export interface ReentrantReadWriteLock extends LockView {
  readonly read: ReentrantAcquirable;
  readonly write: ReentrantAcquirable;
}
