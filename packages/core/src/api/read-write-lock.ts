import type { Acquirable, AcquireOptions } from "./acquiring.js";
import type { LockHandle } from "./handle.js";
import type { LockView, ReentrantAcquirable } from "./mutex.js";
import type { AnyToken } from "./values.js";

/**
 * Many readers or one writer; neither side is re-entrant. Curator: `InterProcessReadWriteLock`, in the node form of
 * 5.5.0 and later. Redisson: `RReadWriteLock`.
 */
export interface ReadWriteLock<Token extends AnyToken = AnyToken> extends LockView {
  /** Any number of clients may hold it together, while no client holds the write side. */
  readonly read: ReadLock<Token>;
  /** One client may hold it, while no client holds either side. */
  readonly write: WriteLock<Token>;
}

/**
 * The read side. A `withLock` body that holds the write side and asks for a read waits for itself: what `Mutex` says about
 * `DeadlockError` applies. A body that holds a read may ask for another one. If a writer has queued in between, the second
 * read waits for that writer, and the writer waits for the first read: limit that wait by `waitMs`.
 */
export type ReadLock<Token extends AnyToken = AnyToken> = Acquirable<Token>;

/**
 * The write side. A `withLock` body that holds either side and asks for a write waits for itself: what `Mutex`
 * says about `DeadlockError` applies.
 */
export interface WriteLock<Token extends AnyToken = AnyToken> extends Acquirable<Token> {
  /** Like `Acquirable.acquire()`, with all its errors. Its handle can also be downgraded. */
  acquire(options?: AcquireOptions): Promise<WriteHandle<Token>>;
  /** Like `Acquirable.tryAcquire()`, with all its errors. Its handle can also be downgraded. */
  tryAcquire(options?: AcquireOptions): Promise<WriteHandle<Token> | null>;
}

/** A held write, which can be turned into a read. */
export interface WriteHandle<Token extends AnyToken = AnyToken> extends LockHandle<Token> {
  /**
   * Takes the read lock before giving up the write lock, so that no other writer comes in between. Resolves with the handle
   * of the read, which has the write's token and owner; this handle becomes `released`. There is no upgrade, because two
   * readers that upgrade would wait for each other.
   *
   * Until the read is granted this handle stays held. After trouble in transport the call tries again, and while the write is
   * in doubt it waits for contact. Before the grant of the read it rejects with
   *
   * - `signal.reason`: `signal` aborted; a read that is granted after that is given back by itself;
   * - `LockLostError`: the write was lost, also by `close()`;
   * - `NotHeldError`: the write was released, or another call is downgrading it;
   * - `BackendError`: the server refuses, or the provider's retry policy gives up;
   * - `UnsupportedError`: the backend cannot grant a read beside a write;
   * - `InvalidArgumentError`: an option is unknown or wrong.
   *
   * Once the read is granted, the call resolves with it, whatever becomes of the release of the write. The event
   * `release-failed` reports a release without an answer, and `signal` only ends the wait for that release.
   *
   * @example
   * ```ts
   * const write = await locks.readWriteLock("prices").write.acquire({ waitMs: 2_000 });
   * await rebuildPrices(write.lost);
   * await using read = await write.downgrade(); // other readers may come in, and no writer has been in between
   * await makeReport(read.lost);
   * ```
   */
  downgrade(options?: { signal?: AbortSignal }): Promise<LockHandle<Token>>;
}

/**
 * Many readers or one writer, each side re-entrant for its owner. Curator: `InterProcessReadWriteLock`. Redisson:
 * `RReadWriteLock`.
 *
 * Scopes and `owner` work as in `ReentrantMutex`; each side is counted by itself. An owner that writes may also take
 * a read; if it then releases the write first, that is a downgrade. `write.acquire` by an owner that only reads
 * rejects with `DeadlockError`. In a scope that writes, nested scopes of both sides run one at a time; in a scope
 * that only reads they run together.
 */
export interface ReentrantReadWriteLock<Token extends AnyToken = AnyToken> extends LockView {
  /** Any number of owners may hold it together, while no other owner holds the write side. */
  readonly read: ReentrantAcquirable<Token>;
  /** One owner may hold it, while no other owner holds either side. */
  readonly write: ReentrantAcquirable<Token>;
}
