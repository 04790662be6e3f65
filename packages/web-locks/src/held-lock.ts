import type { LockHandle, LockMode } from "@holdfast/core";
import type { WebLock } from "./api.js";

/** One granted lock: until its callback has settled, or it was taken away before. */
export class HeldLock {
  readonly name: string;
  readonly mode: LockMode;
  readonly #handle: LockHandle;
  readonly #over = new AbortController();
  #released: Promise<unknown> | undefined;

  constructor(name: string, mode: LockMode, handle: LockHandle) {
    this.name = name;
    this.mode = mode;
    this.#handle = handle;
    handle.lost.addEventListener("abort", () => this.#over.abort(handle.lost.reason), { once: true });
    // Another manager steals it.
    handle.revokeRequested.addEventListener("abort", () => void this.steal(), { once: true });
  }

  /** What the callback gets. */
  forCallback(): WebLock {
    const { name, mode } = this;
    return { name, mode, token: this.#handle.token, lost: this.#over.signal };
  }

  /** Settles as the callback does, and gives the lock back before; at once when the lock is stolen or lost. */
  async settle<T>(body: () => T | PromiseLike<T>): Promise<T> {
    const lost = this.#over.signal;
    // Before the body, which may lose the lock in its first step.
    const over = new Promise<never>((_, reject) => {
      lost.addEventListener("abort", () => reject(lost.reason), { once: true });
    });
    try {
      return await Promise.race([(async () => body())(), over]);
    } finally {
      await this.#release();
    }
  }

  /** Resolves when the lock was given back. */
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
