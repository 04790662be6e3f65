import type { Timers } from "../../page/src/live/live-stream.js";

/** A clock that a test moves forward. */
export class TestClock implements Timers {
  #nowMs = 0;
  #serial = 0;
  readonly #due = new Map<number, { atMs: number; callback: () => void }>();

  get pending(): number {
    return this.#due.size;
  }

  set(callback: () => void, ms: number): unknown {
    this.#serial += 1;
    this.#due.set(this.#serial, { atMs: this.#nowMs + ms, callback });
    return this.#serial;
  }

  clear(timer: unknown): void {
    this.#due.delete(timer as number);
  }

  pass(ms: number): void {
    const end = this.#nowMs + ms;
    for (;;) {
      const next = [...this.#due]
        .filter(([, { atMs }]) => atMs <= end)
        .sort(([, a], [, b]) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      const [id, { atMs, callback }] = next;
      this.#due.delete(id);
      this.#nowMs = atMs;
      callback();
    }
    this.#nowMs = end;
  }
}
