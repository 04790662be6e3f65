interface Entry {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

/**
 * One listener on each signal, however many wait for it. A service that hands one shutdown signal to a thousand
 * acquires would otherwise see a warning from the eleventh on.
 */
export class SignalHub {
  readonly #entries = new WeakMap<AbortSignal, Entry>();

  /** `signal` is not aborted yet. Each callback runs once at most. */
  add(signal: AbortSignal, callback: () => void): void {
    let entry = this.#entries.get(signal);
    if (entry === undefined) {
      const callbacks = new Set<() => void>();
      const listener = (): void => {
        this.#entries.delete(signal);
        for (const each of callbacks) each();
      };
      entry = { callbacks, listener };
      this.#entries.set(signal, entry);
      signal.addEventListener("abort", listener, { once: true });
    }
    entry.callbacks.add(callback);
  }

  remove(signal: AbortSignal, callback: () => void): void {
    const entry = this.#entries.get(signal);
    if (entry === undefined || !entry.callbacks.delete(callback) || entry.callbacks.size > 0) return;
    this.#entries.delete(signal);
    signal.removeEventListener("abort", entry.listener);
  }
}
