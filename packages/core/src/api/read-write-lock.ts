import type { Acquirable, AcquireOptions } from "./acquiring.js";
import type { LockHandle } from "./handle.js";
import type { LockView, ReentrantAcquirable } from "./mutex.js";

/**
 * Many readers or one writer; neither side is re-entrant. Curator: `InterProcessReadWriteLock`, in the node form of
 * 5.5.0 and later. Redisson: `RReadWriteLock`.
 */
export interface ReadWriteLock extends LockView {
  /** Shared with all other reads. */
  readonly read: ReadLock;
  /** Shared with no other hold. */
  readonly write: WriteLock;
}

/**
 * The read side. A read in a `withLock` body that holds the write side is what `DeadlockError` is about, as for
 * `Mutex`; a read in a body that reads is none.
 */
export type ReadLock = Acquirable;

/**
 * The write side. A write in a `withLock` body that holds either side is what `DeadlockError` is about, as for
 * `Mutex`.
 */
export interface WriteLock extends Acquirable {
  /** As `Acquirable.acquire()`, with all its errors. Its handle can also be downgraded. */
  acquire(options?: AcquireOptions): Promise<WriteHandle>;
  /** As `Acquirable.tryAcquire()`. Its handle can also be downgraded. */
  tryAcquire(options?: AcquireOptions): Promise<WriteHandle | null>;
}

/** A held write, which may become a read. */
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
   * A backend that has no read beside a write rejects with `UnsupportedError`.
   */
  downgrade(options?: { signal?: AbortSignal }): Promise<LockHandle>;
}

/**
 * Many readers or one writer, each side re-entrant for its owner. Curator: `InterProcessReadWriteLock`. Redisson:
 * `RReadWriteLock`.
 *
 * Scopes and `owner` as in `ReentrantMutex`, counted for each side. A writer may take read; releasing the write first
 * is the downgrade. `write.acquire` by an owner that only reads rejects with `DeadlockError`. In a scope that writes,
 * nested scopes of both sides run one at a time; in one that only reads they run together.
 */
export interface ReentrantReadWriteLock extends LockView {
  /** Shared with all other reads, and open to an owner that holds the write. */
  readonly read: ReentrantAcquirable;
  /** Shared with no other owner. */
  readonly write: ReentrantAcquirable;
}
