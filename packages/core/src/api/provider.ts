import type { AcquireOptions, LockViewOptions } from "./acquiring.js";
import type { Capabilities, PrimitiveKind } from "./capabilities.js";
import type { CandidacyOptions, LeaderElection } from "./election.js";
import type { LockEvents } from "./events.js";
import type { LockHandle } from "./handle.js";
import type { Mutex, ReentrantMutex } from "./mutex.js";
import type { ReadWriteLock, ReentrantReadWriteLock } from "./read-write-lock.js";
import type { SharedRecord } from "./record.js";
import type { Barrier, CountDownLatch, DoubleBarrier } from "./rendezvous.js";
import type { RetryPolicy } from "./retry.js";
import type { Runtime } from "./runtime.js";
import type { Semaphore } from "./semaphore.js";
import type { AnyToken, FenceBy, Millis, SessionState } from "./values.js";

/** What every provider factory takes besides its connection. */
export interface ProviderOptions {
  /**
   * How long a call waits for a connection, and the limit of the whole of a call that asks once (`waitMs: 0`). An acquire
   * whose request was sent already, or that stands in the queue, waits for this time from when the provider notices that
   * contact is broken, and on ZooKeeper at least until the session is over. Milliseconds; default 10,000.
   */
  connectTimeoutMs?: Millis;
  /** How long a `release()` waits for its answer before it resolves to `unconfirmed`. Milliseconds; default 5,000. */
  releaseTimeoutMs?: Millis;
  /** Used where neither a call nor its view gives a `waitMs`. Milliseconds; default `Infinity`. */
  defaultWaitMs?: Millis;
  /**
   * Whether label, host and pid are published in the backend, for dashboards. Default `false`: we write no more than
   * the Java peer does.
   */
  identity?: boolean;
  /**
   * Whether a `withLock` body that asks for a plain mutex which it holds itself gets `DeadlockError`. For re-entrant
   * locks it does so without this option. The option costs an async store, which makes every `await` of the process a
   * little slower. Default `false`.
   */
  detectDeadlocks?: boolean;
  /**
   * Says when one call tries again after trouble in transport. Default `fullJitterRetry()`: after a random delay of up to 50
   * ms; that limit doubles with each try, to at most 2 s.
   */
  retry?: RetryPolicy;
  /**
   * How long the provider keeps a lock that its last owner has released, so that the next owner of this provider gets it
   * without a request. Milliseconds, finite; default 0: keeps nothing. To all other clients a kept lock looks held; the
   * provider gives it back as soon as it learns that one of them wants it. For locks that mostly one process takes again
   * and again: `docs/kept-locks.md` says when not to use it. Suggested: 1,000, and not more than the session time-out or
   * a third of `leaseMs`.
   *
   * Applies to `mutex()`, `reentrantMutex()` and the write side of both read-write locks, whose views may change it. A lock
   * is kept only if its grant before this one was also for this provider, with no other grant in between. Do not use it for
   * names that Java clients only try. The option is an `UnsupportedError` where the backend keeps no locks, and on Redis an
   * `InvalidArgumentError` above a third of `leaseMs`.
   */
  keepMs?: Millis;
  /**
   * How long one grant may be kept in all, however often it is lent. Milliseconds, finite, counted from the grant; default 5,000.
   */
  maxKeepMs?: Millis;
  /**
   * How many locks may be kept at once; a whole number, 1 or more, default 1,000. When one more is to be kept, the one that
   * was idle for the longest time is given back.
   */
  maxKept?: number;
  /**
   * How long a call that asks once (`waitMs: 0`) stays in the queue of a lock that another process may have kept. Its place
   * in the queue makes that process give the lock back. Milliseconds, finite; default 50. Applies also without `keepMs`.
   */
  keepAskMs?: Millis;
  /**
   * What resources compare to refuse late writers. `"token"` (default): the token alone; a lock whose token was read is then
   * lent to no other owner. `"token-and-turn"`: the pair of `handle.token` and `handle.turn`, for all writers of the
   * resource; a lock is then kept although its token was read. On Redis each owner has a token of its own, so a lock is kept
   * with either value.
   */
  fenceBy?: FenceBy;
  /** Clocks, timers and random numbers. Default: those of the process (`systemRuntime`); simulations give their own. */
  runtime?: Runtime;
}

/**
 * The locks of one connection to a backend. Makes cheap, stateless views: two calls with one name give two
 * objects for the same lock, and nothing is cached by name.
 */
export interface LockProvider<Token extends AnyToken = AnyToken> extends AsyncDisposable {
  /** Drawn at random for each provider. Events carry it as `provider`. */
  readonly id: string;
  /** What this backend can do, and what keeps its holds alive. */
  readonly capabilities: Capabilities;
  /** Events about the locks of this provider, emitted as they happen. */
  readonly events: LockEvents;
  /** The state of the connection; `"closed"` once `close()` was called and its grace is over. */
  readonly state: SessionState | "closed";

  /**
   * Resolves when `state` is `connected`, for readiness probes. Rejects with `BackendError` (RedLock: `QuorumError`)
   * after `waitMs` (milliseconds, default `connectTimeoutMs`) or earlier where no server can be reached, with
   * `signal.reason`, with `InvalidArgumentError` for wrong options, and with `ProviderClosedError`.
   */
  ready(options?: { waitMs?: Millis; signal?: AbortSignal }): Promise<void>;

  /**
   * One holder at a time. Curator: `InterProcessMutex`. Redisson: `RLock`.
   *
   * `name` has 1 to 512 bytes in UTF-8, for all kinds of lock; `options` are defaults for all calls of the view. This
   * method and those below return at once and send nothing. They throw `InvalidArgumentError` for a name or an option
   * that the backend cannot have, and `UnsupportedError` for a kind that it does not have
   * (`capabilities.primitives`).
   *
   * @example
   * ```ts
   * await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, async (lock, { signal }) => {
   *   await charge(order, { fence: lock.token, signal });
   * });
   * ```
   */
  mutex(name: string, options?: LockViewOptions): Mutex<Token>;
  /**
   * A mutex that its owner may take again. Curator: `InterProcessMutex`. Redisson: `RLock`. The first call in a
   * process creates an async store, which makes every `await` of that process a little slower.
   */
  reentrantMutex(name: string, options?: LockViewOptions): ReentrantMutex<Token>;
  /**
   * Many readers or one writer. Curator: `InterProcessReadWriteLock`. Redisson: `RReadWriteLock`.
   *
   * @example
   * ```ts
   * const prices = locks.readWriteLock("prices");
   * await prices.read.withLock(({ lost }) => makeReport(lost)); // beside other readers
   * await prices.write.withLock({ waitMs: 2_000 }, ({ lost }) => rebuildPrices(lost)); // alone
   * ```
   */
  readWriteLock(name: string, options?: LockViewOptions): ReadWriteLock<Token>;
  /**
   * Like `readWriteLock()`, with both sides re-entrant for their owner. Creates the async store of `reentrantMutex()`.
   */
  reentrantReadWriteLock(name: string, options?: LockViewOptions): ReentrantReadWriteLock<Token>;
  /**
   * `limit` permits, a whole number from 1 to 2^31 - 1. Curator: `InterProcessSemaphoreV2`. Redisson:
   * `RPermitExpirableSemaphore`. Clients that give different limits are refused with `LayoutConflictError` on Redis
   * and in memory; ZooKeeper keeps no limit, so each client counts with its own.
   *
   * @example
   * ```ts
   * await locks.semaphore("printers", 3).withPermit({ waitMs: 10_000 }, (_, { signal }) => print(signal));
   * ```
   */
  semaphore(name: string, limit: number, options?: AcquireOptions): Semaphore<Token>;
  /** A count that some clients take down while others wait until it is zero. Redisson: `RCountDownLatch`. Curator has none. */
  countDownLatch(name: string): CountDownLatch;
  /** A gate that one client shuts and others wait at. Curator: `DistributedBarrier`. Redisson has none. */
  barrier(name: string): Barrier;
  /**
   * A barrier of `parties` members, a whole number from 1 to 2^31 - 1, which start and leave together. Curator:
   * `DistributedDoubleBarrier`. Redisson has none.
   */
  doubleBarrier(name: string, parties: number): DoubleBarrier;
  /**
   * A short text that a client can replace if it is still the text that the client has seen. Throws `UnsupportedError` with
   * RedLock.
   */
  record(name: string): SharedRecord;
  /** An election under this name. Curator: `LeaderLatch`. Redisson has none. */
  leaderElection(name: string, options?: CandidacyOptions): LeaderElection<Token>;

  /**
   * What this provider holds now: one handle for each hold. If a hold has several handles, it is the oldest that is still
   * open. Acquires that still wait are not listed: `inspect()` of a lock shows its waiters. Local and synchronous.
   *
   * @example
   * ```ts
   * for (const { name, state } of locks.holds()) console.log(name, state);
   * ```
   */
  holds(): readonly LockHandle<Token>[];

  /**
   * The locks that this provider keeps (`ProviderOptions.keepMs`), also while they are lent to an owner. Those that are lent
   * are in `holds()` too. Local and synchronous.
   *
   * @example
   * ```ts
   * for (const { name, lends, lent } of locks.kept()) console.log(name, lends, lent ? "lent" : "idle");
   * ```
   */
  kept(): readonly KeptLock[];

  /**
   * Refuses new acquires and rejects waiters for locks with `ProviderClosedError` at once. With `graceMs` it then waits until
   * every hold was released by its owner, or until that time is over; latches, barriers, groups, values and records work until
   * then, because holders may need them for what they finish. After that it ends what still waits, releases every hold that is
   * left, whose handle is lost with the reason `"provider-closed"`, and closes its own connections. Does not close a client that
   * was given to the provider.
   *
   * All calls resolve to the same report. A later call can only shorten the grace of an earlier one: `close()` without a
   * grace ends it at once. Rejects with `InvalidArgumentError` for wrong options, and then closes nothing. It does not reject
   * when a server does not answer: `unconfirmed` names the locks for which the server did not confirm that nothing is left.
   *
   * @example
   * ```ts
   * const { released, unconfirmed } = await locks.close({ graceMs: 20_000 });
   * console.log(`gave ${released} locks back; without an answer: ${unconfirmed.join(", ")}`);
   * ```
   */
  close(options?: CloseOptions): Promise<CloseReport>;
}

/** A lock that its provider keeps. */
export interface KeptLock {
  /** The kind of the lock, by the method that made its view. */
  readonly kind: PrimitiveKind;
  /** The name of the lock, as it was given to the provider. */
  readonly name: string;
  /** Milliseconds since its first release, with which the keeping began. */
  readonly sinceMs: Millis;
  /** To how many owners it was lent so far. */
  readonly lends: number;
  /** `true`: an owner has it. `false`: it is idle. */
  readonly lent: boolean;
}

/** How long a `close()` waits, and for what. */
export interface CloseOptions {
  /**
   * Milliseconds that the releases which `close()` makes itself may take in all. Default: the provider's
   * `releaseTimeoutMs`.
   */
  releaseTimeoutMs?: Millis;

  /**
   * Milliseconds for which the present holders may go on before their holds are taken from them. Default 0. Holds are renewed
   * meanwhile, and a scope may enter its own re-entrant lock again and downgrade a write. The signals of `lead()` bodies
   * abort at once. `close()` does not wait for a lock that stays taken because of `holdAtLeastMs`.
   */
  graceMs?: Millis;
}

/** What a `close()` has done. */
export interface CloseReport {
  /** How many locks `close()` itself gave back. Locks that their owners released during the grace do not count. */
  readonly released: number;
  /**
   * Names of the locks and double barriers for which the backend did not confirm in time that nothing of this provider is
   * left: their release by `close()`, an earlier release that ended as `unconfirmed`, or the end of a wait for them. Each name
   * stands once.
   */
  readonly unconfirmed: readonly string[];
}
