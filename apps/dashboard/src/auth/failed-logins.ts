const mostCallers = 10_000;

/**
 * Counts wrong credentials for each caller: a name at an address. Memory is bounded: when it is full, the oldest caller
 * is forgotten.
 */
export class FailedLogins {
  readonly #most: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #failed: Map<string, { count: number; readonly sinceMs: number }> = new Map();

  constructor(options: { readonly most: number; readonly windowMs: number; readonly now: () => number }) {
    this.#most = options.most;
    this.#windowMs = options.windowMs;
    this.#now = options.now;
  }

  /** For how long that caller's credentials are not checked; 0 if they may be checked now. */
  blockedMs(caller: string): number {
    const known = this.#failed.get(caller);
    if (known === undefined || known.count < this.#most) return 0;
    return Math.max(0, known.sinceMs + this.#windowMs - this.#now());
  }

  /** Counts one attempt. */
  add(caller: string): void {
    const known = this.#failed.get(caller);
    if (known !== undefined && this.#now() - known.sinceMs < this.#windowMs) {
      known.count += 1;
      return;
    }
    this.#failed.delete(caller);
    this.#failed.set(caller, { count: 1, sinceMs: this.#now() });
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > mostCallers && oldest !== undefined) this.#failed.delete(oldest);
  }

  /** Takes back an attempt that was not checked because the server was busy. */
  takeBack(caller: string): void {
    const known = this.#failed.get(caller);
    if (known === undefined) return;
    known.count -= 1;
    // An entry without attempts must not push out one with attempts.
    if (known.count === 0) this.#failed.delete(caller);
  }

  /** The credentials were right, so earlier failures of this caller are forgotten. */
  forget(caller: string): void {
    this.#failed.delete(caller);
  }
}
