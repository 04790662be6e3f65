interface Entry {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

/**
 * Adds one listener to each signal, however many callers wait for it. Otherwise a service that passes one shutdown signal to
 * a thousand acquires would see a warning from the eleventh on.
 */
export class SignalHub {
  readonly #entries = new WeakMap<AbortSignal, Entry>();

  /** `signal` must not be aborted yet. Each callback runs at most once. */
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
