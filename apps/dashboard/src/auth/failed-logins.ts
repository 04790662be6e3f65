const mostAddresses = 10_000;

/** Counts wrong credentials per address. Bounded: when it is full, the oldest address is forgotten. */
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

  /** For how long nothing more is tried from there; 0 when it may be. */
  blockedMs(address: string): number {
    const known = this.#failed.get(address);
    if (known === undefined || known.count < this.#most) return 0;
    return Math.max(0, known.sinceMs + this.#windowMs - this.#now());
  }

  add(address: string): void {
    const known = this.#failed.get(address);
    if (known !== undefined && this.#now() - known.sinceMs < this.#windowMs) {
      known.count += 1;
      return;
    }
    this.#failed.delete(address);
    this.#failed.set(address, { count: 1, sinceMs: this.#now() });
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > mostAddresses && oldest !== undefined) this.#failed.delete(oldest);
  }
}
