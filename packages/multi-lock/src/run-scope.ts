import type { MultiHandle, ScopeContext } from "@holdfast/core";
import { Handle, LateSignal, runInFrames, SignalHub } from "@holdfast/core/internal";
import { HeldTogether } from "./multi-handle.js";
import type { MultiAsk } from "./options.js";

export type MultiBody<T> = (lock: MultiHandle, context: ScopeContext) => PromiseLike<T> | T;

const signals = new SignalHub();

/** As the scope of a single lock: the body's own error always wins, and a failed release never replaces a result. */
export async function runMultiScope<T>(handle: HeldTogether, ask: MultiAsk, body: MultiBody<T>): Promise<T> {
  const context = new Scope(handle, ask.signal);
  let value: T;
  let lostWhileRunning: boolean;
  try {
    const ofCore = handle.parts.filter((part) => part instanceof Handle);
    value = await runInFrames(ofCore, () => body(handle, context));
    lostWhileRunning = handle.state === "lost";
  } finally {
    context.end();
    await handle[Symbol.asyncDispose]();
  }
  const lost = lostWhileRunning || HeldTogether.foundGone(handle);
  if (lost && ask.onLoss === "reject") throw handle.lossError({ value });
  return value;
}

/** What the body gets beside its handle. The signal is made when it is first read. */
class Scope implements ScopeContext {
  readonly #handle: HeldTogether;
  readonly #caller: AbortSignal | undefined;
  #late: LateSignal | undefined;
  #stopListening: (() => void) | undefined;
  #ended = false;

  constructor(handle: HeldTogether, caller: AbortSignal | undefined) {
    this.#handle = handle;
    this.#caller = caller;
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
    const caller = this.#caller;
    if (caller?.aborted === true) {
      late.abort(caller.reason);
      return;
    }
    const unwatchLoss = this.#handle.onLost((error) => late.abort(error));
    const aborted = (): void => late.abort(caller?.reason);
    if (caller !== undefined) signals.add(caller, aborted);
    this.#stopListening = () => {
      unwatchLoss();
      if (caller !== undefined) signals.remove(caller, aborted);
    };
  }
}
