const mostCallers = 10_000;

/** Counts wrong credentials per caller: a name at an address. Bounded: when it is full, the oldest caller is forgotten. */
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

  /** How long nothing more is tried for that caller; 0 when it may be. */
  blockedMs(caller: string): number {
    const known = this.#failed.get(caller);
    if (known === undefined || known.count < this.#most) return 0;
    return Math.max(0, known.sinceMs + this.#windowMs - this.#now());
  }

  /** One is tried. */
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

  /** The attempt was not checked because the server was busy: it does not count. */
  takeBack(caller: string): void {
    const known = this.#failed.get(caller);
    if (known === undefined) return;
    known.count -= 1;
    // An entry that counts nothing must push out none that does.
    if (known.count === 0) this.#failed.delete(caller);
  }

  /** It was right: what went wrong before were slips. */
  forget(caller: string): void {
    this.#failed.delete(caller);
  }
}
