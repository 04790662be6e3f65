import type { ScopeContext } from "../api/acquiring.js";
import type { LockLostError } from "../api/errors.js";
import type { HoldState } from "../api/values.js";
import { LateSignal } from "../signals/late-signal.js";
import type { SignalHub } from "../signals/signal-hub.js";

export interface ScopeOptions {
  readonly onLoss: "reject" | "ignore";
  readonly signal: AbortSignal | undefined;
}

/** What a scope needs of its handle, which may be the handle of one hold or of several together. */
export interface Scoped extends AsyncDisposable {
  readonly state: HoldState;
  onLost(listener: (error: LockLostError) => void): () => void;
}

/** What a scope needs besides the handle, because callers must not see it on a handle. */
export interface ScopeMeans {
  readonly signals: SignalHub;
  /** Whether the release of the handle showed that the hold had gone before it. */
  foundGone(): boolean;
  lossError(value: { readonly value: unknown }): LockLostError;
}

/**
 * Runs the body of a `withLock` and releases the handle whatever happens. The body's own error always takes precedence, also
 * over a loss. A failed release never replaces a result; only the event `release-failed` reports it.
 */
export async function runInScope<T>(
  handle: Scoped,
  means: ScopeMeans,
  options: ScopeOptions,
  body: (context: ScopeContext) => PromiseLike<T> | T,
): Promise<T> {
  const context = new Scope(handle, means.signals, options.signal);
  let value: T;
  let lostWhileRunning: boolean;
  try {
    value = await body(context);
    lostWhileRunning = handle.state === "lost";
  } finally {
    context.end();
    await handle[Symbol.asyncDispose]();
  }
  // A release that found nothing shows that the entry had gone while the body ran, although no loss had been reported.
  const lost = lostWhileRunning || means.foundGone();
  if (lost && options.onLoss === "reject") throw means.lossError({ value });
  return value;
}

/** What the body gets besides its handle. The signal is made when it is first read. */
class Scope implements ScopeContext {
  readonly #handle: Scoped;
  readonly #signals: SignalHub;
  readonly #callerSignal: AbortSignal | undefined;
  #late: LateSignal | undefined;
  #stopListening: (() => void) | undefined;
  #ended = false;

  constructor(handle: Scoped, signals: SignalHub, callerSignal: AbortSignal | undefined) {
    this.#handle = handle;
    this.#signals = signals;
    this.#callerSignal = callerSignal;
  }

  get signal(): AbortSignal {
    if (this.#late === undefined) {
      this.#late = new LateSignal();
      if (!this.#ended) this.#listen(this.#late);
    }
    return this.#late.signal;
  }

  end(): void {
    this.#ended = true;
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  #listen(late: LateSignal): void {
    const caller = this.#callerSignal;
    if (caller?.aborted === true) {
      late.abort(caller.reason);
      return;
    }
    const unwatchLoss = this.#handle.onLost((error) => late.abort(error));
    const aborted = (): void => late.abort(caller?.reason);
    if (caller !== undefined) this.#signals.add(caller, aborted);
    this.#stopListening = () => {
      unwatchLoss();
      if (caller !== undefined) this.#signals.remove(caller, aborted);
    };
  }
}
