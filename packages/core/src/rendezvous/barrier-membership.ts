import { LockLostError } from "../api/errors.js";
import type { BarrierMembership } from "../api/rendezvous.js";
import type { LossReason } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import { show } from "../options/checks.js";
import { LateSignal } from "../signals/late-signal.js";
import { settledWithin } from "../signals/settled-within.js";
import { type WaitBounds, type WaitOptions, waitBounds } from "./wait-bounds.js";

/** One member's place in a double barrier that it has passed. */
export interface BarrierEntry {
  /** Why the entry is gone; `null` while it is there. */
  readonly lost: LossReason | null;
  /** Calls `listener` once if the entry is lost; at once if it is lost already. Never because of `leave()` or `giveUp()`. */
  onLost(listener: (reason: LossReason) => void): void;
  /** From now on the entry also notices its removal by another client. */
  watch(): void;
  /** Resolves once all members that were there have left. May be called again after a rejection. */
  leave(bounds: WaitBounds): Promise<void>;
  /** Takes the entry away without waiting for the other members. */
  giveUp(): Promise<void>;
}

export class Membership implements BarrierMembership {
  readonly #engine: GrantEngine;
  readonly #name: string;
  readonly #entry: BarrierEntry;
  readonly #lost = new LateSignal();
  #leaving: Promise<void> | null = null;
  #left = false;

  constructor(engine: GrantEngine, name: string, entry: BarrierEntry) {
    this.#engine = engine;
    this.#name = name;
    this.#entry = entry;
    entry.onLost((reason) => this.#lost.abort(this.#lostError(reason)));
  }

  get lost(): AbortSignal {
    this.#entry.watch();
    return this.#lost.signal;
  }

  /** Concurrent calls leave together, with the limits of the first call. */
  async leave(options?: WaitOptions): Promise<void> {
    const engine = this.#engine;
    const what = `leaving the double barrier ${show(this.#name)}`;
    const bounds = waitBounds(engine, "leave", what, this.#name, options);
    if (this.#left) return;
    this.#leaving ??= this.#leave(bounds).finally(() => {
      this.#leaving = null;
    });
    await this.#leaving;
  }

  /**
   * Takes our place away at once and does not wait for the other members, so that a body that failed does not delay them.
   * Waits for the server no longer than a release does. Never rejects.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#left) return;
    this.#left = true;
    const { runtime, options } = this.#engine;
    const gone = this.#giveUp();
    this.#engine.trackCleaning(gone);
    await settledWithin(runtime, gone, options.releaseTimeoutMs, { ref: true });
  }

  async #giveUp(): Promise<void> {
    try {
      await this.#entry.giveUp();
    } catch (error) {
      const owner = this.#engine.freshOwner(null);
      this.#engine.events.emit("release-failed", {
        kind: "double-barrier",
        name: this.#name,
        owner,
        reason: "refused",
        error,
      });
    }
  }

  async #leave(bounds: WaitBounds): Promise<void> {
    const { lost } = this.#entry;
    if (lost !== null) throw this.#lostError(lost);
    try {
      await this.#entry.leave(bounds);
      this.#left = true;
    } catch (error) {
      if (bounds.signal?.aborted === true && error === bounds.signal.reason) throw error;
      const { lost: lostMeanwhile } = this.#entry;
      throw lostMeanwhile === null ? this.#engine.typed(error, this.#name) : this.#lostError(lostMeanwhile);
    }
  }

  #lostError(reason: LossReason): LockLostError {
    return new LockLostError(
      `the place in the double barrier ${show(this.#name)} is gone (${reason}): the others may have stopped counting us`,
      { reason, token: null, lockName: this.#name, backend: this.#engine.backend },
    );
  }
}
