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
   * Takes the read lock before giving up the write lock, without a gap. This handle becomes `released`, the read has its
   * token and owner. There is no upgrade: two readers upgrading wait for each other.
   *
   * Until the read is there nothing changes: `signal` rejects with its reason, trouble in transport is tried again, a
   * write in doubt is waited for, and this handle stays held; a read that comes after that goes back by itself. A write
   * that is lost first, also by `close()`, rejects with its `LockLostError`; one that was released, or is being
   * downgraded by another call, with `NotHeldError`. Once the read is there it is the result, whatever becomes of the
   * release of the write: `release-failed` tells of one without an answer, and `signal` only ends the wait for it.
   */
  downgrade(options?: { signal?: AbortSignal }): Promise<LockHandle>;
}

/**
 * Scopes and `owner` as in `ReentrantMutex`, counted for each side. A writer may take read; releasing the write first is
 * the downgrade. `write.acquire` by an owner that only reads rejects with `DeadlockError`. In a scope that writes, nested
 * scopes of both sides run one at a time; in one that only reads they run together.
 */
export interface ReentrantReadWriteLock extends LockView {
  readonly read: ReentrantAcquirable;
  readonly write: ReentrantAcquirable;
}
