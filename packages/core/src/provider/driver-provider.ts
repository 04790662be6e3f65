import type { AcquireOptions, LockViewOptions } from "../api/acquiring.js";
import type { Capabilities, PrimitiveKind } from "../api/capabilities.js";
import type { LockDriver, PermitLimit } from "../api/driver.js";
import type { CandidacyOptions, LeaderElection } from "../api/election.js";
import { BackendError, QuorumError, UnsupportedError } from "../api/errors.js";
import type { LockEvents } from "../api/events.js";
import type { LockHandle } from "../api/handle.js";
import type { BackendLink } from "../api/link.js";
import type { Mutex, ReentrantMutex } from "../api/mutex.js";
import type { CloseOptions, CloseReport, KeptLock, LockProvider } from "../api/provider.js";
import type { ReadWriteLock, ReentrantReadWriteLock } from "../api/read-write-lock.js";
import type { SharedRecord } from "../api/record.js";
import type { Barrier, CountDownLatch, DoubleBarrier } from "../api/rendezvous.js";
import type { Semaphore } from "../api/semaphore.js";
import type { AnyToken, Millis, SessionState } from "../api/values.js";
import type { EventHub } from "../events/event-hub.js";
import { GrantEngine } from "../grants/engine.js";
import {
  acquireKeys,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
} from "../options/acquire-options.js";
import { checkMillis, checkOptions, checkSignal } from "../options/checks.js";
import { validateLockName } from "../options/lock-name.js";
import type { ResolvedProviderOptions } from "../options/provider-options.js";
import { LeaderElectionView } from "../recipes/leader-election.js";
import { MutexView } from "../recipes/mutex.js";
import { ReadWriteLockView } from "../recipes/read-write-lock.js";
import { ReentrantMutexView } from "../recipes/reentrant-mutex.js";
import { ReentrantReadWriteLockView } from "../recipes/reentrant-read-write-lock.js";
import { SemaphoreView } from "../recipes/semaphore.js";
import { createScopeStore } from "../scope-store.js";
import { abortable } from "../signals/abortable.js";

/** The kinds whose locks the provider may keep. */
const keepable: ReadonlySet<PrimitiveKind> = new Set([
  "mutex",
  "reentrant-mutex",
  "read-write-lock",
  "reentrant-read-write-lock",
]);

const readyKeys: ReadonlySet<string> = new Set(["waitMs", "signal"]);
const closeKeys: ReadonlySet<string> = new Set(["releaseTimeoutMs", "graceMs"]);

export interface ProviderParts {
  readonly driver: LockDriver;
  readonly link: BackendLink;
  readonly events: EventHub;
  readonly options: ResolvedProviderOptions;
  /** Used where a call gives no `leaseMs`. Default 30,000. */
  readonly defaultLeaseMs?: Millis;
}

/**
 * A provider that is built on a driver. Backends extend it with what only they have, and override what core does not build on
 * grants (latches, barriers, counts).
 *
 * `Token` repeats for the compiler what the driver's `capabilities.fencing` says: `FencingToken` unless that is `"none"`. In
 * the code below this class a token may be `null`; this class gives the views their type.
 */
export class DriverProvider<Token extends AnyToken = AnyToken> implements LockProvider<Token> {
  readonly id: string;
  readonly capabilities: Capabilities;
  readonly #engine: GrantEngine;
  readonly #defaults: ResolvedAcquireOptions;

  constructor(parts: ProviderParts) {
    const { driver, link, events, options } = parts;
    this.id = events.source.provider;
    this.capabilities = driver.capabilities;
    this.#engine = new GrantEngine({ driver, link, events, options });
    this.#defaults = {
      waitMs: options.defaultWaitMs,
      signal: undefined,
      leaseMs: parts.defaultLeaseMs ?? 30_000,
      renew: true,
      lease: driver.capabilities.lease,
      revocable: false,
      label: null,
      onLoss: "reject",
      owner: undefined,
      holdAtLeastMs: 0,
      fresh: false,
      keepMs: options.keepMs,
      fenceBy: options.fenceBy,
    };
    if (options.detectDeadlocks) createScopeStore();
  }

  get events(): LockEvents {
    return this.#engine.events;
  }

  get state(): SessionState | "closed" {
    return this.#engine.closed ? "closed" : this.#engine.link.state;
  }

  async ready(options: { waitMs?: Millis; signal?: AbortSignal } = {}): Promise<void> {
    const engine = this.#engine;
    checkOptions("ready", options, readyKeys);
    checkMillis("ready: waitMs", options.waitMs, { minimumMs: 0, infinite: true });
    checkSignal("ready: signal", options.signal);
    const { signal } = options;
    if (engine.closing) throw engine.closedError();
    signal?.throwIfAborted();
    if (engine.link.state === "connected") return;
    const waitMs = options.waitMs ?? engine.options.connectTimeoutMs;
    try {
      await abortable(engine, signal, () => engine.link.whenConnected({ waitMs }), "");
    } catch (error) {
      // The link makes an error for each call, in a timer. The stack is captured again here, where it names the caller.
      if (error instanceof BackendError || error instanceof QuorumError) Error.captureStackTrace(error);
      throw error;
    }
    if (engine.closing) throw engine.closedError();
  }

  mutex(name: string, options?: LockViewOptions): Mutex<Token> {
    return this.mutexOfKind("mutex", name, options);
  }

  reentrantMutex(name: string, options?: LockViewOptions): ReentrantMutex<Token> {
    const defaults = this.#view("reentrantMutex", "reentrant-mutex", name, options);
    createScopeStore();
    const view: ReentrantMutex = new ReentrantMutexView(this.#engine, "reentrant-mutex", name, defaults);
    return view as ReentrantMutex<Token>;
  }

  readWriteLock(name: string, options?: LockViewOptions): ReadWriteLock<Token> {
    const kind = "read-write-lock";
    const defaults = this.#view("readWriteLock", kind, name, options);
    const view: ReadWriteLock = new ReadWriteLockView(this.#engine, kind, name, defaults);
    return view as ReadWriteLock<Token>;
  }

  reentrantReadWriteLock(name: string, options?: LockViewOptions): ReentrantReadWriteLock<Token> {
    const kind = "reentrant-read-write-lock";
    const defaults = this.#view("reentrantReadWriteLock", kind, name, options);
    createScopeStore();
    const view: ReentrantReadWriteLock = new ReentrantReadWriteLockView(this.#engine, kind, name, defaults);
    return view as ReentrantReadWriteLock<Token>;
  }

  semaphore(name: string, limit: number, options?: AcquireOptions): Semaphore<Token> {
    return this.semaphoreOfKind("semaphore", name, limit, options);
  }

  countDownLatch(name: string): CountDownLatch {
    throw this.unsupported("count-down-latch", name);
  }

  barrier(name: string): Barrier {
    throw this.unsupported("barrier", name);
  }

  doubleBarrier(name: string, _parties: number): DoubleBarrier {
    throw this.unsupported("double-barrier", name);
  }

  record(name: string): SharedRecord {
    throw this.unsupported("record", name);
  }

  leaderElection(name: string, options?: CandidacyOptions): LeaderElection<Token> {
    return this.electionOfVariant(null, name, options);
  }

  /** One handle for each hold: the oldest that is still open. */
  holds(): readonly LockHandle<Token>[] {
    const handles: LockHandle[] = [];
    for (const hold of [...this.#engine.holds]) {
      const [oldest] = hold.open;
      if (oldest !== undefined && hold.check()) handles.push(oldest);
    }
    return handles as LockHandle<Token>[];
  }

  kept(): readonly KeptLock[] {
    return this.#engine.keepings?.list() ?? [];
  }

  close(options: CloseOptions = {}): Promise<CloseReport> {
    try {
      checkOptions("close", options, closeKeys);
      checkMillis("close: graceMs", options.graceMs, { minimumMs: 0, infinite: false });
      checkMillis("close: releaseTimeoutMs", options.releaseTimeoutMs, { minimumMs: 0, infinite: false });
    } catch (error) {
      return Promise.reject(error);
    }
    const { releaseTimeoutMs = this.#engine.options.releaseTimeoutMs, graceMs = 0 } = options;
    return this.#engine.close(releaseTimeoutMs, graceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The engine, for primitives of a backend that are built on it and are not grants. */
  protected get engine(): GrantEngine {
    return this.#engine;
  }

  /** A plain mutex of another kind, such as one that only this backend has. */
  protected mutexOfKind(kind: PrimitiveKind, name: string, options?: LockViewOptions): Mutex<Token> {
    const defaults = this.#view(kind, kind, name, options);
    const view: Mutex = new MutexView(this.#engine, kind, name, defaults);
    return view as Mutex<Token>;
  }

  /** `limit`: a number, the name of a counter that keeps it, or `null` where the backend keeps it with the permits. */
  protected semaphoreOfKind(
    kind: PrimitiveKind,
    name: string,
    limit: PermitLimit | null,
    options?: AcquireOptions,
  ): Semaphore<Token> {
    const defaults = this.#view(kind, kind, name, options);
    const view: Semaphore = new SemaphoreView(this.#engine, kind, name, defaults, limit);
    return view as Semaphore<Token>;
  }

  /** An election in a layout that the driver knows by `variant`; `null` is its default. */
  protected electionOfVariant(
    variant: string | null,
    name: string,
    options?: CandidacyOptions,
  ): LeaderElection<Token> {
    const kind = "leader-election";
    const defaults = this.#view(kind, kind, name, options, acquireKeys.candidacy);
    const view: LeaderElection = new LeaderElectionView(this.#engine, kind, name, defaults, variant);
    return view as LeaderElection<Token>;
  }

  protected unsupported(kind: PrimitiveKind, name?: string): UnsupportedError {
    const { backend } = this.capabilities;
    return new UnsupportedError(`the backend ${backend} has no ${kind}`, { backend, lockName: name });
  }

  /**
   * Throws if this backend does not have the kind, or cannot have the name. Backends call it for primitives that are not grants.
   */
  protected checkNamed(kind: PrimitiveKind, name: string): void {
    validateLockName(name);
    this.#engine.driver.checkName?.(name);
    if (!this.capabilities.primitives.has(kind)) throw this.unsupported(kind, name);
  }

  #view(
    what: string,
    kind: PrimitiveKind,
    name: string,
    options: LockViewOptions | undefined,
    known: ReadonlySet<string> = acquireKeys.view,
  ): ResolvedAcquireOptions {
    this.checkNamed(kind, name);
    if (keepable.has(kind))
      return resolveAcquireOptions(what, options, this.#defaults, acquireKeys.keepableView);
    return resolveAcquireOptions(what, options, { ...this.#defaults, keepMs: 0 }, known);
  }
}
