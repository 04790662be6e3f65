import type { WithLockOptions } from "../api/acquiring.js";
import { AcquireTimeoutError } from "../api/errors.js";
import type { LockHandle } from "../api/handle.js";
import type { ReentrantAcquireOptions, ReentrantMutex } from "../api/mutex.js";
import type { LockMode, Millis, Owner } from "../api/values.js";
import { claim } from "../grants/claim.js";
import { Handle } from "../grants/handle.js";
import type { Hold } from "../grants/hold.js";
import {
  acquireKeys,
  onceUnlessSaid,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
} from "../options/acquire-options.js";
import { currentFrame, Frame, frameOf } from "../scopes/frames.js";
import { runScope, type ScopeBody } from "../scopes/run-scope.js";
import { scopeArguments } from "../scopes/scope-arguments.js";
import { type LocalBounds, waitLocally } from "../signals/wait-locally.js";
import { type BookedLock, booksOf, type OwnerBooks } from "./owner-books.js";
import { ownScopeError } from "./plain-view.js";
import { View } from "./view.js";
import { whenCertain } from "./when-certain.js";

/** The limits of one wait, for everything that a re-entrant acquire may have to wait for. */
export interface ReentrantBounds extends LocalBounds {
  readonly startedMs: Millis;
}

/** One request of an owner that does not hold this side yet. */
export interface ReentrantAsk {
  readonly owner: Owner;
  readonly options: ResolvedAcquireOptions;
  /** Whether it is an error when no grant comes in time. */
  readonly throws: boolean;
  readonly bounds: ReentrantBounds;
}

/** What one scope has acquired. */
interface Entry {
  readonly handle: Handle;
  /** The scope in which it was acquired. */
  readonly parent: Frame | undefined;
  /** The outer scope whose one place for a child it has taken. */
  readonly place: Frame | undefined;
}

type ReentrantScopeOptions = WithLockOptions & { owner?: Owner };

/** A lock, or one side of a lock, that its owner may take again; the backend sees one hold. */
export abstract class ReentrantView extends View implements ReentrantMutex {
  protected abstract readonly mode: LockMode;

  async acquire(options?: ReentrantAcquireOptions): Promise<LockHandle> {
    const resolved = resolveAcquireOptions("acquire", options, this.defaults, acquireKeys.reentrant);
    return (await this.#take(resolved, true)) as LockHandle;
  }

  async tryAcquire(options?: ReentrantAcquireOptions): Promise<LockHandle | null> {
    const resolved = resolveAcquireOptions("tryAcquire", options, this.defaults, acquireKeys.reentrant);
    return await this.#take(onceUnlessSaid(resolved, options), false);
  }

  withLock<T>(body: ScopeBody<T>): Promise<T>;
  withLock<T>(options: ReentrantScopeOptions, body: ScopeBody<T>): Promise<T>;
  async withLock<T>(first: ReentrantScopeOptions | ScopeBody<T>, second?: ScopeBody<T>): Promise<T> {
    const { options, body } = scopeArguments("withLock", first, second);
    const resolved = resolveAcquireOptions("withLock", options, this.defaults, acquireKeys.reentrantScope);
    return await this.#run(await this.#entry(resolved), resolved, body);
  }

  tryWithLock<T>(body: ScopeBody<T>): Promise<T | null>;
  tryWithLock<T>(options: ReentrantScopeOptions, body: ScopeBody<T>): Promise<T | null>;
  async tryWithLock<T>(
    first: ReentrantScopeOptions | ScopeBody<T>,
    second?: ScopeBody<T>,
  ): Promise<T | null> {
    const { options, body } = scopeArguments("tryWithLock", first, second);
    const asked = resolveAcquireOptions("tryWithLock", options, this.defaults, acquireKeys.reentrantScope);
    const resolved = onceUnlessSaid(asked, options);
    let entry: Entry;
    try {
      entry = await this.#entry(resolved);
    } catch (error) {
      if (error instanceof AcquireTimeoutError) return null;
      throw error;
    }
    return await this.#run(entry, resolved, body);
  }

  holdCount(owner?: Owner): number {
    const { engine, name, mode } = this;
    if (owner !== undefined) return this.books.find(this.lock, owner, mode)?.open.length ?? 0;
    const ofThisSide = frameOf(engine, name, mode);
    if (ofThisSide !== undefined) return ofThisSide.hold.open.length;
    const ofTheOther = frameOf(engine, name);
    return ofTheOther === undefined ? 0 : this.holdCount(ofTheOther.hold.owner);
  }

  protected get lock(): BookedLock {
    return { kind: this.kind, name: this.name };
  }

  protected get books(): OwnerBooks {
    return booksOf(this.engine);
  }

  /** In the body of another owner's scope with this mode a wait for this lock would never end. `undefined`: any mode. */
  protected get blockedBy(): LockMode | undefined {
    return undefined;
  }

  /**
   * Asks the backend. The owner holds nothing on this side, and is marked as asking. Not an async function: each of them is a
   * frame of the stack, and the ten frames that an error has must reach the caller.
   */
  protected ask(ask: ReentrantAsk): Promise<Handle | null> {
    const { engine, kind, name, mode, books } = this;
    const { owner, options, throws, bounds } = ask;
    return claim(engine, {
      kind,
      name,
      mode,
      permits: 1,
      owner,
      options,
      throws,
      startedMs: bounds.startedMs,
      onHold: (hold) => books.enter(hold),
    });
  }

  #timeoutError(options: ResolvedAcquireOptions, { startedMs }: ReentrantBounds): AcquireTimeoutError {
    return new AcquireTimeoutError(
      `the lock "${this.name}" was not entered within waitMs = ${options.waitMs}`,
      {
        waitedMs: this.engine.runtime.nowMs() - startedMs,
        lockName: this.name,
        backend: this.engine.backend,
      },
    );
  }

  /** Enters the lock for a scope. Rejects with `AcquireTimeoutError` when it was not entered in time. */
  async #entry(options: ResolvedAcquireOptions): Promise<Entry> {
    const bounds = this.#bounds(options);
    // A scope may end while this call waits for its turn in it. Then the scope around it is the one to enter.
    for (;;) {
      const parent = this.#reenterable(options);
      if (parent === undefined) break;
      // Inside an exclusive scope one child runs at a time, whatever its side. Inside scopes that only read, all children read.
      const alone = frameOf(this.engine, this.name, "exclusive") !== undefined;
      if (!alone || (await this.#occupy(parent, bounds, options))) {
        const place = alone ? parent : undefined;
        let handle: Handle | null = null;
        try {
          handle = await this.#enter(parent, bounds, options);
        } finally {
          if (handle === null) place?.vacate();
        }
        if (handle !== null) return { handle, parent, place };
      }
    }
    // There is no scope to enter: this call is the first to ask, or its scopes have ended while it waited for its turn.
    const handle = (await this.#take(options, true, bounds)) as Handle;
    return { handle, parent: currentFrame(), place: undefined };
  }

  async #run<T>(
    { handle, parent, place }: Entry,
    options: ResolvedAcquireOptions,
    body: ScopeBody<T>,
  ): Promise<T> {
    const frame = new Frame(Handle.holdOf(handle), { reentrant: true, parent, place });
    try {
      return await runScope(this.engine, handle, options, body, frame);
    } finally {
      frame.leave();
    }
  }

  #bounds(options: ResolvedAcquireOptions): ReentrantBounds {
    const startedMs = this.engine.runtime.nowMs();
    return { startedMs, deadlineMs: startedMs + options.waitMs, signal: options.signal };
  }

  /** The scope in which this call is made, if the call may enter it again. */
  #reenterable(options: ResolvedAcquireOptions): Frame | undefined {
    const frame = frameOf(this.engine, this.name);
    if (frame?.hold.kind !== this.kind) return undefined;
    const { owner } = options;
    return owner === undefined || owner.id === frame.hold.owner.id ? frame : undefined;
  }

  /** Takes the child's place in the frame. `false` when the frame ended first, or its body released its handle. */
  async #occupy(frame: Frame, bounds: ReentrantBounds, options: ResolvedAcquireOptions): Promise<boolean> {
    if (options.signal?.aborted === true) throw options.signal.reason;
    if (frame.tryOccupy()) return true;
    let hasPlace = false;
    const woken = await waitLocally(this.engine, bounds, (wake) =>
      frame.queue((place) => {
        hasPlace = place;
        wake();
      }),
    );
    if (!woken) throw this.#timeoutError(options, bounds);
    return hasPlace;
  }

  /** A share in what the running scope holds: on this side, or beside the other side. `null` when it was given back meanwhile. */
  async #enter(
    frame: Frame,
    bounds: ReentrantBounds,
    options: ResolvedAcquireOptions,
  ): Promise<Handle | null> {
    // The body may have ended after this call got its place in the scope.
    if (frame.ended) return null;
    const { owner } = frame.hold;
    const ofThisSide = frameOf(this.engine, this.name, this.mode);
    if (ofThisSide?.hold.owner.id === owner.id) return await this.#reenter(ofThisSide.hold, bounds, options);
    // A scope that has lost its hold is over, and does not acquire the lock anew.
    if (frame.hold.state === "lost") throw frame.hold.lossError();
    return await this.#take({ ...options, owner }, true, bounds);
  }

  async #reenter(
    hold: Hold,
    bounds: ReentrantBounds,
    options: ResolvedAcquireOptions,
  ): Promise<Handle | null> {
    const entered = await whenCertain(hold, bounds, () => new Handle(hold, options));
    if (entered === "too-late") throw this.#timeoutError(options, bounds);
    return entered === "given-back" ? null : entered;
  }

  async #take(
    options: ResolvedAcquireOptions,
    throws: boolean,
    bounds: ReentrantBounds = this.#bounds(options),
  ): Promise<Handle | null> {
    const { engine, lock, books, mode } = this;
    if (options.signal?.aborted === true) throw options.signal.reason;
    const owner = options.owner ?? engine.freshOwner(options.label);
    this.#refuseDeadlock(owner, options);
    for (;;) {
      const hold = books.find(lock, owner, mode);
      if (hold !== undefined) {
        const handle = await this.#reenterOrNull(hold, bounds, options, throws);
        if (handle !== "given-back") return handle;
        continue;
      }
      if (!books.asking(lock, owner)) return await this.#ask({ owner, options, throws, bounds });
      // The same owner is asking already: a second request would queue behind the first for ever.
      const woken = await waitLocally(engine, bounds, (wake) => books.whenAsked(lock, owner, wake));
      if (woken) continue;
      if (!throws) return null;
      throw this.#timeoutError(options, bounds);
    }
  }

  async #reenterOrNull(
    hold: Hold,
    bounds: ReentrantBounds,
    options: ResolvedAcquireOptions,
    throws: boolean,
  ): Promise<Handle | null | "given-back"> {
    try {
      return (await this.#reenter(hold, bounds, options)) ?? "given-back";
    } catch (error) {
      if (!throws && error instanceof AcquireTimeoutError) return null;
      throw error;
    }
  }

  async #ask(ask: ReentrantAsk): Promise<Handle | null> {
    const { lock, books } = this;
    books.begin(lock, ask.owner);
    try {
      return await this.ask(ask);
    } finally {
      books.finish(lock, ask.owner);
    }
  }

  #refuseDeadlock(owner: Owner, options: ResolvedAcquireOptions): void {
    if (options.waitMs === 0) return;
    const frame = frameOf(this.engine, this.name, this.blockedBy);
    if (frame === undefined || !frame.hold.check()) return;
    // Another re-entrant kind has another layout. The backend refuses that with an error that says so.
    if (frame.reentrant && (frame.hold.kind !== this.kind || frame.hold.owner.id === owner.id)) return;
    throw ownScopeError(this.name, "; nest withLock, or pass the owner of its handle");
  }
}
