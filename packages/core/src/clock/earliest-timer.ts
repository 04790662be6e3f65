import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";

/** One timer, for the earliest of the times that it was asked for since it last rang. */
export class EarliestTimer {
  readonly #runtime: Pick<Runtime, "nowMs" | "setTimer">;
  readonly #ring: () => void;
  #atMs: Millis = Infinity;
  #cancel: (() => void) | undefined;

  constructor(runtime: Pick<Runtime, "nowMs" | "setTimer">, ring: () => void) {
    this.#runtime = runtime;
    this.#ring = ring;
  }

  /** `atMs` is monotonic. The timer never rings within this call. */
  ringBy(atMs: Millis): void {
    if (atMs >= this.#atMs) return;
    this.clear();
    this.#atMs = atMs;
    const leftMs = Math.max(0, Math.ceil(atMs - this.#runtime.nowMs()));
    this.#cancel = this.#runtime.setTimer(leftMs, () => {
      this.clear();
      this.#ring();
    });
  }

  clear(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#atMs = Infinity;
  }
}
