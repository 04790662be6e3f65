import type { ScopeContext } from "../api/acquiring.js";
import type { LockHandle } from "../api/handle.js";
import type { GrantEngine } from "../grants/engine.js";
import { Handle } from "../grants/handle.js";
import { LateSignal } from "../signals/late-signal.js";
import { type Frame, runInFrame } from "./frames.js";

export type ScopeBody<T, H = LockHandle> = (lock: H, context: ScopeContext) => PromiseLike<T> | T;

export interface ScopeOptions {
  readonly onLoss: "reject" | "ignore";
  readonly signal: AbortSignal | undefined;
}

/**
 * Runs the body of a `withLock` and gives the handle back whatever happens. The body's own error always wins, also over
 * a loss; a failed release never replaces a result and is told by `release-failed` alone.
 */
export async function runScope<T, H extends Handle = Handle>(
  engine: GrantEngine,
  handle: H,
  options: ScopeOptions,
  body: ScopeBody<T, H>,
  frame: Frame | undefined,
): Promise<T> {
  const context = new Scope(engine, handle, options.signal);
  let value: T;
  let lostWhileRunning: boolean;
  try {
    value = await (frame === undefined
      ? body(handle, context)
      : runInFrame(frame, () => body(handle, context)));
    lostWhileRunning = handle.state === "lost";
  } finally {
    frame?.end();
    context.end();
    await handle[Symbol.asyncDispose]();
  }
  // A release that found nothing shows that the entry had gone while the body ran, although nobody had told us.
  const lost = lostWhileRunning || Handle.foundGone(handle);
  if (lost && options.onLoss === "reject") throw Handle.holdOf(handle).lossError({ value });
  return value;
}

/** What the body gets beside its handle. The signal is made when it is first read. */
class Scope implements ScopeContext {
  readonly #engine: GrantEngine;
  readonly #handle: Handle;
  readonly #callerSignal: AbortSignal | undefined;
  #late: LateSignal | undefined;
  #stopListening: (() => void) | undefined;
  #ended = false;

  constructor(engine: GrantEngine, handle: Handle, callerSignal: AbortSignal | undefined) {
    this.#engine = engine;
    this.#handle = handle;
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
    if (caller !== undefined) this.#engine.signals.add(caller, aborted);
    this.#stopListening = () => {
      unwatchLoss();
      if (caller !== undefined) this.#engine.signals.remove(caller, aborted);
    };
  }
}
