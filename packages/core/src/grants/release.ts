import { BackendError } from "../api/errors.js";
import type { ReleaseOutcome } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import type { GrantEngine } from "./engine.js";
import type { Held } from "./held.js";

/**
 * Giving one grant back: one request, one outcome, whoever waits for it. The request goes on when the wait for it ends.
 */
export class Release extends Alarm {
  /** What the backend says in the end: `true` when it confirmed. */
  done: Promise<boolean> = Promise.resolve(false);

  readonly #engine: GrantEngine;
  readonly #hold: Held;
  readonly #onSettled: () => void;
  readonly #signals: AbortSignal[] = [];
  #resolve: (outcome: ReleaseOutcome) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #settled = false;

  constructor(engine: GrantEngine, hold: Held, onSettled: () => void) {
    super();
    this.#engine = engine;
    this.#hold = hold;
    this.#onSettled = onSettled;
  }

  start(signal: AbortSignal | undefined): Promise<ReleaseOutcome> {
    const engine = this.#engine;
    const { grant } = this.#hold;
    const outcome = new Promise<ReleaseOutcome>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A driver that throws instead of rejecting is treated alike.
    try {
      this.done = grant.release();
    } catch (error) {
      this.done = Promise.reject(error);
    }
    this.done.then(
      (confirmed) => this.#answered(confirmed),
      (error) => this.#failed(error),
    );
    // Set once the answers that are there already have been heard: a release without I/O needs no timer.
    queueMicrotask(() => {
      if (this.#settled) return;
      engine.waitAlarms.set(this, engine.runtime.nowMs() + engine.options.releaseTimeoutMs);
    });
    if (signal !== undefined) this.addSignal(signal);
    return outcome;
  }

  addSignal(signal: AbortSignal): void {
    if (this.#settled) return;
    if (signal.aborted) {
      this.#unconfirmed(signal.reason);
      return;
    }
    this.#signals.push(signal);
    this.#engine.signals.add(signal, this.#aborted);
  }

  /** The session or lease ended first. */
  lost(): void {
    this.#settle("lost");
  }

  ring(): void {
    const engine = this.#engine;
    const { name } = this.#hold;
    const ms = engine.options.releaseTimeoutMs;
    this.#unconfirmed(
      new BackendError(`no answer to the release of "${name}" within ${ms} ms (releaseTimeoutMs)`, {
        lockName: name,
        backend: engine.backend,
      }),
    );
  }

  readonly #aborted = (): void => {
    this.#unconfirmed(this.#signals.find((signal) => signal.aborted)?.reason);
  };

  #answered(confirmed: boolean): void {
    if (this.#settled) return;
    if (!confirmed) this.#hold.noteLossBeforeRelease();
    this.#settle(confirmed ? "released" : "lost");
  }

  #failed(error: unknown): void {
    const engine = this.#engine;
    const { name } = this.#hold;
    const typed = engine.typed(error, name);
    const refused = !(typed instanceof BackendError && typed.retryable);
    if (this.#settled) {
      if (refused) this.#hold.releaseFailed("refused", typed);
      return;
    }
    if (!refused) {
      this.#unconfirmed(typed);
      return;
    }
    this.#end("unconfirmed");
    this.#hold.releaseFailed("refused", typed);
    this.#reject(typed);
  }

  #unconfirmed(error: unknown): void {
    if (this.#settled) return;
    this.#engine.rememberPendingRelease(this.#hold.name, this.done);
    this.#hold.releaseFailed("unconfirmed", error);
    this.#settle("unconfirmed");
  }

  #settle(outcome: ReleaseOutcome): void {
    if (this.#settled) return;
    this.#end(outcome);
    this.#resolve(outcome);
  }

  #end(outcome: ReleaseOutcome): void {
    const hold = this.#hold;
    const { waitAlarms, signals, events } = this.#engine;
    this.#settled = true;
    waitAlarms.clear(this);
    for (const signal of this.#signals) signals.remove(signal, this.#aborted);
    this.#onSettled();
    if (events.has("released"))
      events.emit("released", { ...hold.eventBase(), outcome, heldMs: hold.heldMs() });
  }
}
