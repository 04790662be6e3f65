import { InvalidArgumentError, type LockLostError, NotHeldError } from "../api/errors.js";
import type { LockHandle, ReleaseOptions } from "../api/handle.js";
import type { FencingToken, HoldState, LockMode, Millis, Owner, ReleaseOutcome } from "../api/values.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import { checkSignalAlone, show } from "../options/checks.js";
import { checkReleaseOptions } from "../options/release-options.js";
import { abortable } from "../signals/abortable.js";
import { LateSignal } from "../signals/late-signal.js";
import { renewedOrOver } from "./confirm.js";
import type { Hold } from "./hold.js";
import { inspectBy, tokenJson } from "./printing.js";

/** The acquire options that a handle needs. */
export type HandleOptions = Pick<ResolvedAcquireOptions, "revocable" | "holdAtLeastMs">;

/** What one successful acquire returns: a share in a hold. */
export class Handle implements LockHandle {
  readonly #hold: Hold;
  readonly #revocable: boolean;
  #released: Promise<ReleaseOutcome> | undefined;
  /** Set while the release begins. Events of the release come before there is its promise. */
  #leaving = false;
  /** Whether this was the last handle of the hold: its release is the release of the hold. */
  #last = false;
  #lost: LateSignal | undefined;
  #revokeRequested: LateSignal | undefined;
  #lossListeners: Set<(error: LockLostError) => void> | undefined;
  #lostBeforeRelease = false;

  /** Throws `NotHeldError` for a hold that was given back: the backend may grant the lock to its next owner at any time. */
  constructor(hold: Hold, options: HandleOptions) {
    this.#hold = hold;
    if (hold.givenBack) throw this.#notHeldError(0);
    this.#revocable = options.revocable;
    hold.enter(this);
    hold.holdAtLeast(options.holdAtLeastMs);
  }

  /** The hold of a handle, for scopes. It is not a property, so that callers never see it. */
  static holdOf(handle: Handle): Hold {
    return handle.#hold;
  }

  /** Whether the release of this handle showed that the hold had gone before it. */
  static foundGone(handle: Handle): boolean {
    return handle.#last && handle.#hold.foundGone;
  }

  get name(): string {
    return this.#hold.name;
  }

  get mode(): LockMode {
    return this.#hold.mode;
  }

  get owner(): Owner {
    return this.#hold.owner;
  }

  get token(): FencingToken | null {
    const token = this.#hold.showToken();
    if (token !== undefined) return token;
    const { name, engine } = this.#hold;
    throw new NotHeldError(
      `the token of "${name}" was not read while its handle was held, and may be that of another owner now`,
      { lockName: name, backend: engine.backend },
    );
  }

  get turn(): number {
    return this.#hold.turn;
  }

  get state(): HoldState {
    const state = this.#released === undefined ? this.#hold.state : "released";
    return this.#lostBeforeRelease ? "lost" : state;
  }

  remainingMs(): Millis {
    return this.#released === undefined ? this.#hold.remainingMs() : 0;
  }

  get lost(): AbortSignal {
    if (this.#lost === undefined) {
      this.#lost = new LateSignal();
      if (this.state === "lost") this.#lost.abort(this.#hold.lossError());
      else if (this.#released === undefined) this.#hold.grant.attend?.();
    }
    return this.#lost.signal;
  }

  get revokeRequested(): AbortSignal {
    if (this.#revokeRequested === undefined) {
      this.#revokeRequested = new LateSignal();
      if (this.#revocable && this.#released === undefined) {
        this.#hold.grant.attend?.();
        if (this.#hold.revokeAsked) this.#revokeRequested.abort(revokeReason());
      }
    }
    return this.#revokeRequested.signal;
  }

  assertHeld(minimumMs: Millis = 0): void {
    if (!(minimumMs >= 0)) {
      throw new InvalidArgumentError(`assertHeld: minimumMs must be 0 or more; got ${show(minimumMs)}`);
    }
    if (this.#released === undefined) {
      const remainingMs = this.#hold.remainingMs();
      if (remainingMs > 0 && remainingMs >= minimumMs) return;
    }
    throw this.#notHeldError(minimumMs);
  }

  async confirm(options?: { signal?: AbortSignal }): Promise<void> {
    checkSignalAlone("confirm", options);
    options?.signal?.throwIfAborted();
    if (this.#isOver()) throw this.#notHeldError(0);
    const { engine, name } = this.#hold;
    await abortable(engine, options?.signal, () => renewedOrOver(this.#hold), name);
    if (this.#isOver()) throw this.#notHeldError(0);
  }

  release(options?: ReleaseOptions): Promise<ReleaseOutcome> {
    try {
      checkReleaseOptions(options);
    } catch (error) {
      return Promise.reject(error);
    }
    const { signal, keep } = options ?? {};
    if (signal !== undefined && this.#last) this.#hold.addReleaseSignal(signal);
    if (this.#released !== undefined) return this.#released;
    // A listener of an event of this very release calls it again.
    if (this.#leaving) return Promise.resolve().then(() => this.release(options));
    this.#leaving = true;
    try {
      this.#released = this.#release(signal, keep);
    } finally {
      this.#leaving = false;
    }
    return this.#released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch {
      // The event `release-failed` reports it: a scope must keep the result or error of its body.
    }
  }

  /**
   * Calls `listener` once when the hold is lost before this handle is released; at once when it is lost already.
   * `attend: false`: lets the driver decide when it begins to listen for the end of the hold.
   */
  onLost(listener: (error: LockLostError) => void, { attend = true }: { attend?: boolean } = {}): () => void {
    if (this.state === "lost") {
      listener(this.#hold.lossError());
      return () => {};
    }
    if (attend) this.#hold.grant.attend?.();
    this.#lossListeners ??= new Set();
    this.#lossListeners.add(listener);
    return () => this.#lossListeners?.delete(listener);
  }

  holdLost(error: LockLostError): void {
    if (this.#released !== undefined) return;
    this.#lostBeforeRelease = true;
    this.#lost?.abort(error);
    const listeners = this.#lossListeners;
    this.#lossListeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) listener(error);
  }

  revokeAsked(): void {
    if (this.#revocable) this.#revokeRequested?.abort(revokeReason());
  }

  /** Counts as a read of the token, because a resource may compare what is sent as JSON. */
  toJSON(): object {
    return { ...this.shown(), token: tokenJson(this.#hold.showToken()) };
  }

  /** `console.log` does not count as a read of the token: like events, it is for people. */
  static {
    inspectBy(Handle, (handle) => ({ name: handle.shownAs, fields: handle.shown() }));
  }

  protected get shownAs(): string {
    return "LockHandle";
  }

  protected shown(): object {
    const { name, mode, state, owner, turn } = this;
    const { token } = this.#hold;
    return { name, mode, state, owner, token, turn, remainingMs: Math.floor(this.remainingMs()) };
  }

  #isOver(): boolean {
    const { state } = this;
    return state === "lost" || state === "released";
  }

  #release(signal: AbortSignal | undefined, keep: boolean | undefined): Promise<ReleaseOutcome> {
    const hold = this.#hold;
    // Reads the clock: a hold whose time is over is lost, even if no timer has run yet.
    hold.check();
    const left = hold.leave(this);
    // A listener of another handle's loss may release this handle before it has been notified.
    if (hold.isLost && !this.#lostBeforeRelease) this.holdLost(hold.lossError());
    if (this.#lostBeforeRelease) return Promise.resolve("lost");
    if (left === "still-held") return Promise.resolve("still-held");
    this.#last = true;
    return hold.release(signal, keep);
  }

  #notHeldError(minimumMs: Millis): Error {
    const hold = this.#hold;
    // Reads the clock: if the time of the hold ran out after the caller's check, the hold is lost, and the error has to say so.
    const remainingMs = Math.floor(hold.remainingMs());
    if (this.#lostBeforeRelease) return hold.lossError();
    const details = { lockName: hold.name, backend: hold.engine.backend };
    if (this.#released !== undefined) {
      return new NotHeldError(`the lock "${hold.name}" was released by this handle`, details);
    }
    if (hold.givenBack) return new NotHeldError(`the hold on "${hold.name}" was given back`, details);
    return new NotHeldError(
      `the lock "${hold.name}" is known to be held for ${remainingMs} ms only, ` +
        `${minimumMs} ms were asked for; confirm() asks the backend`,
      details,
    );
  }
}

function revokeReason(): DOMException {
  return new DOMException("another client asks for the lock", "AbortError");
}
