import { outsideScopes } from "../scope-store.js";

/** An abort signal that costs nothing until its `signal` is read. Its listeners run outside of every caller's scope. */
export class LateSignal {
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: unknown;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Only the first call counts. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    const controller = this.#controller;
    if (controller !== undefined) outsideScopes(() => controller.abort(reason));
  }
}
