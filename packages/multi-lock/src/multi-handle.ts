import {
  BackendError,
  type HoldState,
  InvalidArgumentError,
  type LockHandle,
  LockLostError,
  type LockMode,
  type Millis,
  type MultiHandle,
  NotHeldError,
  type Owner,
  type ReleaseOptions,
  type ReleaseOutcome,
} from "@holdfast/core";
import {
  checkReleaseOptions,
  checkSignalAlone,
  Handle,
  inspectBy,
  LateSignal,
  messageOf,
  show,
} from "@holdfast/core/internal";
import { giveBack, onPartLost, partLossError, unlessAborted } from "./part-handle.js";

/** Several holds as one: held as long as all of them are, and lost with the first that is lost. */
export class HeldTogether implements MultiHandle {
  readonly #parts: readonly LockHandle[];
  readonly #stops: (() => void)[] = [];
  #lossError: LockLostError | undefined;
  /** Set when a release showed that a part had been lost before, without an event that reported it. */
  #foundGone: LockLostError | undefined;
  /** After a loss: settles when the other parts have been given back. */
  #givingBack: Promise<void> | undefined;
  #released: Promise<ReleaseOutcome> | undefined;
  #lost: LateSignal | undefined;
  #lossListeners: Set<(error: LockLostError) => void> | undefined;
  #revokeRequested: LateSignal | undefined;

  constructor(parts: readonly LockHandle[]) {
    this.#parts = parts;
    for (const part of parts) this.#stops.push(onPartLost(part, (error) => this.#partLost(error)));
  }

  /** Whether the release showed that a part had been lost before it. */
  static foundGone(handle: HeldTogether): boolean {
    return handle.#foundGone !== undefined;
  }

  get parts(): readonly LockHandle[] {
    return this.#parts;
  }

  /** The parts' names, in the order of acquisition. */
  get name(): string {
    return this.#parts.map(({ name }) => name).join(", ");
  }

  /** "shared" only when all parts are: one exclusive part keeps all other clients out of the whole. */
  get mode(): LockMode {
    return this.#parts.every(({ mode }) => mode === "shared") ? "shared" : "exclusive";
  }

  /** The owner of the first part; each part has its own. */
  get owner(): Owner {
    return this.#first.owner;
  }

  get token(): null {
    return null;
  }

  get turn(): number {
    return 0;
  }

  get state(): HoldState {
    if (this.#lossError !== undefined) return "lost";
    if (this.#released !== undefined) return "released";
    let state: HoldState = "held";
    for (const part of this.#parts) {
      const { state: ofPart } = part;
      if (ofPart === "lost") {
        this.#partLost(partLossError(part));
        return "lost";
      }
      // The caller has released the part through its own handle: the whole is not held any more, and there was no loss.
      if (ofPart === "released") state = "released";
      else if (ofPart === "uncertain" && state === "held") state = "uncertain";
    }
    return state;
  }

  remainingMs(): Millis {
    const { state } = this;
    if (state === "lost" || state === "released") return 0;
    return Math.min(...this.#parts.map((part) => part.remainingMs()));
  }

  get lost(): AbortSignal {
    if (this.#lost === undefined) {
      this.#lost = new LateSignal();
      if (this.state === "lost") this.#lost.abort(this.lossError());
      else if (this.#released === undefined) this.#attend();
    }
    return this.#lost.signal;
  }

  get revokeRequested(): AbortSignal {
    if (this.#revokeRequested === undefined) {
      const whole = new LateSignal();
      this.#revokeRequested = whole;
      for (const { revokeRequested } of this.#released === undefined ? this.#parts : []) {
        const asked = (): void => whole.abort(revokeRequested.reason);
        if (revokeRequested.aborted) asked();
        else revokeRequested.addEventListener("abort", asked, { once: true });
      }
    }
    return this.#revokeRequested.signal;
  }

  assertHeld(minimumMs: Millis = 0): void {
    if (!(minimumMs >= 0)) {
      throw new InvalidArgumentError(`assertHeld: minimumMs must be 0 or more; got ${show(minimumMs)}`);
    }
    this.#assertNotOver();
    // The error of a part that has too little time left says how much is missing.
    for (const part of this.#parts) part.assertHeld(minimumMs);
  }

  async confirm(options?: { signal?: AbortSignal }): Promise<void> {
    checkSignalAlone("confirm", options);
    options?.signal?.throwIfAborted();
    this.#assertNotOver();
    try {
      await Promise.all(this.#parts.map((part) => part.confirm(options)));
    } catch (error) {
      this.#assertNotOver();
      throw error;
    }
    this.#assertNotOver();
  }

  release(options?: ReleaseOptions): Promise<ReleaseOutcome> {
    try {
      checkReleaseOptions(options);
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#released === undefined) this.#released = this.#release(options);
    else if (options?.signal !== undefined) this.#shareSignal(options);
    return this.#released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch {
      // The event `release-failed` reports the error. A scope must keep the result or error of its body.
    }
  }

  toJSON(): object {
    const { name, mode, state, owner, token, parts } = this;
    return { name, mode, state, owner, token, remainingMs: Math.floor(this.remainingMs()), parts };
  }

  static {
    inspectBy(HeldTogether, (handle) => ({ name: "MultiHandle", fields: handle.toJSON() }));
  }

  /** Calls `listener` once when the whole is lost before it is released; at once when it is lost already. */
  onLost(listener: (error: LockLostError) => void): () => void {
    if (this.state === "lost") {
      listener(this.lossError());
      return () => {};
    }
    this.#attend();
    this.#lossListeners ??= new Set();
    this.#lossListeners.add(listener);
    return () => this.#lossListeners?.delete(listener);
  }

  /** `value`: the result of a scope's body that fulfilled in spite of the loss. */
  lossError(value?: { readonly value: unknown }): LockLostError {
    const known = this.#lossError ?? this.#foundGone ?? this.#wholeLost(partLossError(this.#first));
    if (value === undefined) return known;
    const { message, reason, token, lockName, backend, cause } = known;
    return new LockLostError(message, { reason, token, lockName, backend, cause, ...value });
  }

  /** The holder watches for the loss of the whole. From now on each part watches for its own loss, where that was put off. */
  #attend(): void {
    for (const part of this.#parts) if (part instanceof Handle) void part.lost;
  }

  #partLost(error: LockLostError): void {
    if (this.#lossError !== undefined || this.#released !== undefined) return;
    const whole = this.#wholeLost(error);
    this.#lossError = whole;
    this.#stopListening();
    // Not at once: in this turn, other parts of the same session are notified of the same end, and need no release. It is
    // set before the listeners are called, because a release that one of them calls waits for it.
    this.#givingBack = Promise.resolve().then(() => {
      const left = this.#parts.filter(({ state }) => state === "held" || state === "uncertain");
      return giveBack(left);
    });
    this.#lost?.abort(whole);
    const listeners = this.#lossListeners;
    this.#lossListeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) listener(whole);
  }

  #wholeLost(cause: LockLostError): LockLostError {
    const { reason, token, lockName, backend } = cause;
    const of =
      this.#parts.length === 1 ? "" : `, and with it all ${this.#parts.length} locks of its multi-lock`;
    return new LockLostError(`the lock "${lockName}" was lost${of}: ${reason}`, {
      reason,
      token,
      lockName,
      backend,
      cause,
    });
  }

  async #release(options: ReleaseOptions | undefined): Promise<ReleaseOutcome> {
    // Reading `state` reads the clock. `#released` is not set yet, so a loss that is found now counts.
    if (this.state === "lost") {
      await unlessAborted(this.#givingBack ?? Promise.resolve(), options?.signal);
      return "lost";
    }
    this.#stopListening();
    // The last part is released first. No part waits for the answer to another, so a silent backend delays no other part.
    const parts = [...this.#parts].reverse();
    // A part that is not core's may throw instead of rejecting. The others are released in any case.
    const ends = await Promise.allSettled(parts.map(async (part) => await part.release(options)));
    const refusals: unknown[] = [];
    let outcome: ReleaseOutcome = "released";
    for (const [i, end] of ends.entries()) {
      if (end.status === "rejected") {
        refusals.push(end.reason);
        continue;
      }
      if (weight[end.value] > weight[outcome]) outcome = end.value;
      const part = parts[i] as LockHandle;
      if (end.value === "lost" && wasGone(part)) this.#foundGone ??= this.#wholeLost(partLossError(part));
    }
    if (refusals.length > 0) throw this.#refused(refusals);
    return outcome;
  }

  #refused(refusals: readonly unknown[]): unknown {
    const [first] = refusals;
    if (refusals.length === 1) return first;
    const reasons = refusals.map(messageOf);
    return new BackendError(`${refusals.length} of the locks could not be released: ${reasons.join("; ")}`, {
      cause: new AggregateError(refusals),
      lockName: this.name,
      backend: first instanceof BackendError ? first.backend : undefined,
      retryable: false,
    });
  }

  #shareSignal(options: { signal?: AbortSignal }): void {
    for (const part of this.#parts) {
      // The promise of the first call says how the release ended. This call only bounds the wait for it.
      part.release(options).catch(() => {});
    }
  }

  #stopListening(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  get #first(): LockHandle {
    return this.#parts[0] as LockHandle;
  }

  #assertNotOver(): void {
    const { state } = this;
    if (state === "lost") throw this.lossError();
    if (state !== "released") return;
    const { name } = this;
    throw new NotHeldError(`the locks of "${name}" were released`, { lockName: name });
  }
}

/**
 * Whether a part whose release said "lost" had gone before that release. A part that was held then, and whose time ran out
 * before the answer came, had not: the body of a scope ran under it to the end.
 */
function wasGone(part: LockHandle): boolean {
  if (part instanceof Handle) return Handle.foundGone(part);
  return !(part instanceof HeldTogether) || HeldTogether.foundGone(part);
}

/** The whole answers with the worst outcome of its parts: that with the highest weight. */
const weight: Readonly<Record<ReleaseOutcome, number>> = {
  released: 0,
  kept: 1,
  "still-held": 2,
  unconfirmed: 3,
  lost: 4,
};
