import type { LockHandle, LockMode, Owner } from "@holdfast/core";
import { Handle, LateSignal } from "@holdfast/core/internal";
import type { WebLock } from "./api.js";

/** One granted lock, until its callback has settled or it was stolen or lost before. */
export class HeldLock {
  readonly name: string;
  readonly mode: LockMode;
  readonly #handle: LockHandle;
  readonly #over = new LateSignal();
  #released: Promise<unknown> | undefined;

  constructor(name: string, mode: LockMode, handle: LockHandle) {
    this.name = name;
    this.mode = mode;
    this.#handle = handle;
    whenAborted(handle.lost, (reason) => this.#over.abort(reason));
    // A request to release comes from another manager, which steals the lock.
    whenAborted(handle.revokeRequested, () => void this.steal());
  }

  get owner(): Owner {
    return this.#handle.owner;
  }

  /** What the callback gets. */
  forCallback(): WebLock {
    const { name, mode } = this;
    return { name, mode, token: this.#handle.token, lost: this.#over.signal };
  }

  /**
   * Settles as the callback does, after the lock was given back. When the lock is stolen or lost, it does not wait for the
   * callback. Where only the release finds that the lock was gone, it rejects too. The callback of a lock that was stolen or
   * lost between its grant and this call is not called.
   */
  async settle<T>(body: () => T | PromiseLike<T>): Promise<T> {
    const lost = this.#over.signal;
    try {
      lost.throwIfAborted();
      // Listens before the body runs, which may lose the lock in its first step.
      const over = new Promise<never>((_, reject) => whenAborted(lost, reject));
      const value = await Promise.race([(async () => body())(), over]);
      await this.#release();
      // The release reads the clock: the time of the hold may have run out before any timer could say so.
      lost.throwIfAborted();
      const handle = this.#handle;
      if (handle instanceof Handle && Handle.foundGone(handle))
        throw Handle.holdOf(handle).lossError({ value });
      return value;
    } finally {
      await this.#release();
    }
  }

  /** Ends the hold as stolen. Resolves when the lock was given back. */
  async steal(): Promise<void> {
    if (this.#released !== undefined) return;
    this.#over.abort(new DOMException(`the lock "${this.name}" was stolen`, "AbortError"));
    await this.#release();
  }

  #release(): Promise<unknown> {
    this.#released ??= this.#handle[Symbol.asyncDispose]();
    return this.#released;
  }
}

/**
 * Calls `act` when the signal aborts; at once where it has been aborted, because a listener that is added then is never
 * called.
 */
function whenAborted(signal: AbortSignal, act: (reason: unknown) => void): void {
  if (signal.aborted) act(signal.reason);
  else signal.addEventListener("abort", () => act(signal.reason), { once: true });
}
