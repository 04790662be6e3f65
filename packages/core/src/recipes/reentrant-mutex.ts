import type { WithLockOptions } from "../api/acquiring.js";
import { AcquireTimeoutError } from "../api/errors.js";
import type { LockHandle } from "../api/handle.js";
import type { ReentrantAcquireOptions, ReentrantMutex } from "../api/mutex.js";
import type { Millis, Owner } from "../api/values.js";
import { Handle } from "../grants/handle.js";
import type { Hold } from "../grants/hold.js";
import {
  acquireKeys,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
} from "../options/acquire-options.js";
import { currentFrame, Frame, frameOf } from "../scopes/frames.js";
import { runScope, type ScopeBody } from "../scopes/run-scope.js";
import { scopeArguments } from "../scopes/scope-arguments.js";
import { type LocalBounds, waitLocally } from "../signals/wait-locally.js";
import { ownScopeError } from "./mutex.js";
import { booksOf } from "./owner-books.js";
import { View } from "./view.js";

/** One wait over all that a re-entrant acquire may have to wait for. */
interface Bounds extends LocalBounds {
  readonly startedMs: Millis;
}

/** A mutex that its owner may take again; the backend sees one hold. */
export class ReentrantMutexView extends View implements ReentrantMutex {
  async acquire(options?: ReentrantAcquireOptions): Promise<LockHandle> {
    const resolved = resolveAcquireOptions("acquire", options, this.defaults, acquireKeys.reentrant);
    return (await this.#take(resolved, true)) as LockHandle;
  }

  async tryAcquire(options?: ReentrantAcquireOptions): Promise<LockHandle | null> {
    const resolved = resolveAcquireOptions("tryAcquire", options, this.defaults, acquireKeys.reentrant);
    return await this.#take({ ...resolved, waitMs: options?.waitMs ?? 0 }, false);
  }

  withLock<T>(body: ScopeBody<T>): Promise<T>;
  withLock<T>(options: WithLockOptions & { owner?: Owner }, body: ScopeBody<T>): Promise<T>;
  async withLock<T>(
    first: (WithLockOptions & { owner?: Owner }) | ScopeBody<T>,
    second?: ScopeBody<T>,
  ): Promise<T> {
    const { options, body } = scopeArguments(first, second);
    const resolved = resolveAcquireOptions("withLock", options, this.defaults, acquireKeys.reentrantScope);
    const bounds = this.#bounds(resolved);
    const frame = this.#reenterable(resolved);
    if (frame !== undefined && (await this.#occupy(frame, bounds, resolved))) {
      try {
        const handle = await this.#reenter(frame.hold, bounds, resolved);
        if (handle !== null) return await this.#run(handle, resolved, body, frame);
      } finally {
        frame.vacate();
      }
    }
    // The first to ask, or one whose scope has ended while it waited for its turn: a stranger.
    const handle = (await this.#take(resolved, true, bounds)) as Handle;
    return await this.#run(handle, resolved, body, currentFrame());
  }

  holdCount(owner?: Owner): number {
    if (owner !== undefined) return booksOf(this.engine).find(this.name, owner)?.open.length ?? 0;
    return frameOf(this.engine, this.name)?.hold.open.length ?? 0;
  }

  #run<T>(
    handle: Handle,
    options: ResolvedAcquireOptions,
    body: ScopeBody<T>,
    parent: Frame | undefined,
  ): Promise<T> {
    const frame = new Frame(Handle.holdOf(handle), { reentrant: true, parent });
    return runScope(this.engine, handle, options, body, frame);
  }

  #bounds(options: ResolvedAcquireOptions): Bounds {
    const startedMs = this.engine.runtime.nowMs();
    return { startedMs, deadlineMs: startedMs + options.waitMs, signal: options.signal };
  }

  /** The scope that this call is made in, when it may be entered again. */
  #reenterable(options: ResolvedAcquireOptions): Frame | undefined {
    const frame = frameOf(this.engine, this.name);
    if (frame === undefined) return undefined;
    const { owner } = options;
    return frame.reentrant && (owner === undefined || owner.id === frame.hold.owner.id) ? frame : undefined;
  }

  /** `false` when the frame ended first: then there is nothing left to enter again. */
  async #occupy(frame: Frame, bounds: Bounds, options: ResolvedAcquireOptions): Promise<boolean> {
    if (options.signal?.aborted === true) throw options.signal.reason;
    if (frame.tryOccupy()) return true;
    const woken = await waitLocally(this.engine, bounds, (wake) => frame.queue(wake));
    if (!woken) throw this.#timeoutError(options);
    return frame.active;
  }

  /**
   * Nothing new is built on a hold that is in doubt: waits until it is certain again, and rejects with its
   * `LockLostError` when it is lost instead. `null` when it was given back meanwhile.
   */
  async #reenter(hold: Hold, bounds: LocalBounds, options: ResolvedAcquireOptions): Promise<Handle | null> {
    for (;;) {
      const { state } = hold;
      if (state === "held") return new Handle(hold, options);
      if (state === "lost") throw hold.lossError();
      if (state === "released") return null;
      const woken = await waitLocally(this.engine, bounds, (wake) => hold.watch(wake));
      if (!woken) throw this.#timeoutError(options);
    }
  }

  async #take(
    options: ResolvedAcquireOptions,
    throws: boolean,
    bounds: Bounds = this.#bounds(options),
  ): Promise<Handle | null> {
    const { engine, name } = this;
    if (options.signal?.aborted === true) throw options.signal.reason;
    const owner = options.owner ?? engine.freshOwner(options.label);
    this.#refuseDeadlock(owner, options);
    const books = booksOf(engine);
    for (;;) {
      const hold = books.find(name, owner);
      if (hold !== undefined) {
        const handle = await this.#reenterOrNull(hold, bounds, options, throws);
        if (handle !== "given-back") return handle;
        continue;
      }
      if (!books.asking(name, owner)) return await this.#ask(owner, options, throws, bounds);
      // The same owner is asking already: a second request would queue behind the first for ever.
      const woken = await waitLocally(engine, bounds, (wake) => books.whenAsked(name, owner, wake));
      if (woken) continue;
      if (!throws) return null;
      throw this.#timeoutError(options);
    }
  }

  async #reenterOrNull(
    hold: Hold,
    bounds: LocalBounds,
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

  async #ask(
    owner: Owner,
    options: ResolvedAcquireOptions,
    throws: boolean,
    bounds: Bounds,
  ): Promise<Handle | null> {
    const { engine, kind, name } = this;
    const books = booksOf(engine);
    books.begin(name, owner);
    try {
      return await engine.acquire({
        kind,
        name,
        mode: "exclusive",
        permits: 1,
        owner,
        options,
        throws,
        startedMs: bounds.startedMs,
        onHold: (hold) => books.enter(hold),
      });
    } finally {
      books.finish(name, owner);
    }
  }

  #refuseDeadlock(owner: Owner, options: ResolvedAcquireOptions): void {
    if (options.waitMs === 0) return;
    const frame = frameOf(this.engine, this.name);
    if (frame === undefined || !frame.hold.check()) return;
    if (frame.reentrant && frame.hold.owner.id === owner.id) return;
    throw ownScopeError(this.name, "; nest withLock, or pass the owner of its handle");
  }

  #timeoutError(options: ResolvedAcquireOptions): AcquireTimeoutError {
    return new AcquireTimeoutError(
      `the lock "${this.name}" was not entered within waitMs = ${options.waitMs}`,
      {
        waitedMs: options.waitMs,
        lockName: this.name,
        backend: this.engine.backend,
      },
    );
  }
}
