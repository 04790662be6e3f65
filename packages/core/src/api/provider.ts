import type { AcquireOptions } from "./acquiring.js";
import type { Capabilities } from "./capabilities.js";
import type { CandidacyOptions, LeaderElection } from "./election.js";
import type { LockEvents } from "./events.js";
import type { LockHandle } from "./handle.js";
import type { Mutex, ReentrantMutex } from "./mutex.js";
import type { ReadWriteLock, ReentrantReadWriteLock } from "./read-write-lock.js";
import type { Barrier, CountDownLatch, DoubleBarrier } from "./rendezvous.js";
import type { RetryPolicy } from "./retry.js";
import type { Runtime } from "./runtime.js";
import type { Semaphore } from "./semaphore.js";
import type { Millis, SessionState } from "./values.js";

/** What every provider factory takes besides its connection. */
export interface ProviderOptions {
  /** Bounds every wait for a connection, and the whole of a call that asks once (`waitMs: 0`). Milliseconds; default 10,000. */
  connectTimeoutMs?: Millis;
  /** When a `release()` without an answer settles as `unconfirmed`. Default 5,000. */
  releaseTimeoutMs?: Millis;
  /** Used where a call gives no `waitMs`. Default `Infinity`. */
  defaultWaitMs?: Millis;
  /** Publish label, host and pid in the backend, for dashboards. Default `false`: nothing beyond what the Java peer writes. */
  identity?: boolean;
  /** Find self-deadlock of plain mutexes too. Costs an async store. Default `false`. */
  detectDeadlocks?: boolean;
  retry?: RetryPolicy;
  runtime?: Runtime;
}

/**
 * One for each connection to a backend. Makes cheap, stateless views: two calls with one name give two
 * objects for the same lock, and nothing is cached by name.
 */
export interface LockProvider extends AsyncDisposable {
  readonly id: string;
  readonly capabilities: Capabilities;
  readonly events: LockEvents;
  readonly state: SessionState | "closed";

  /** For readiness probes: resolves when `state` is `connected`; rejects after `waitMs` (default `connectTimeoutMs`). */
  ready(options?: { waitMs?: Millis; signal?: AbortSignal }): Promise<void>;

  mutex(name: string, options?: AcquireOptions): Mutex;
  reentrantMutex(name: string, options?: AcquireOptions): ReentrantMutex;
  readWriteLock(name: string, options?: AcquireOptions): ReadWriteLock;
  reentrantReadWriteLock(name: string, options?: AcquireOptions): ReentrantReadWriteLock;
  semaphore(name: string, limit: number, options?: AcquireOptions): Semaphore;
  countDownLatch(name: string): CountDownLatch;
  barrier(name: string): Barrier;
  doubleBarrier(name: string, parties: number): DoubleBarrier;
  leaderElection(name: string, options?: CandidacyOptions): LeaderElection;

  /** What this provider holds and waits for now. Local and synchronous. */
  holds(): readonly LockHandle[];

  /**
   * Refuses new work and rejects waiters with `ProviderClosedError` at once. With `graceMs` it then waits until every hold was
   * released by its owner, or until that time is over. After that it releases every hold that is left, whose handle is
   * lost with the reason "provider-closed", and lets go of what it owns. Does not close a client it was given.
   *
   * All calls have one answer. A later call can only shorten the grace of an earlier one: `close()` ends it at once.
   * Rejects with `InvalidArgumentError` for wrong options, and then closes nothing.
   */
  close(options?: CloseOptions): Promise<CloseReport>;
}

export interface CloseOptions {
  /** How long the releases that `close()` makes itself may take in all. Default: the provider's `releaseTimeoutMs`. */
  releaseTimeoutMs?: Millis;

  /**
   * How long the present holders may go on before their holds are taken from them. Default 0. Holds are renewed meanwhile,
   * and a scope may enter its own re-entrant lock again and downgrade a write. The signals of `lead()` bodies abort at
   * once. A lock that is kept by `holdAtLeastMs` is not waited for.
   */
  graceMs?: Millis;
}

export interface CloseReport {
  /** Locks that `close()` gave back itself, and not those that their owners released during the grace. */
  readonly released: number;
  /** Names of the locks whose release the backend did not confirm in time. */
  readonly unconfirmed: readonly string[];
}
