import type { Millis, Runtime } from "@holdfast/core";
import { inSlices } from "@holdfast/core/internal";

export interface Attended {
  /** Called once, also for an item that has ended since it was due. */
  attend(): void;
}

/**
 * Attends to items that have lasted for `everyMs`, or up to twice as long, with one timer for all. An item that ends
 * before that is forgotten and costs nothing.
 */
export class Lasting {
  readonly #everyMs: Millis;
  readonly #runtime: Runtime;
  /** `#young`: begun since the last tick. `#older`: begun in the period before it. */
  #young = new Set<Attended>();
  #older = new Set<Attended>();
  #timerRuns = false;

  constructor(everyMs: Millis, runtime: Runtime) {
    this.#everyMs = everyMs;
    this.#runtime = runtime;
  }

  add(attended: Attended): void {
    if (this.#older.has(attended)) return;
    this.#young.add(attended);
    this.#runTimer();
  }

  delete(attended: Attended): void {
    if (!this.#young.delete(attended)) this.#older.delete(attended);
  }

  #runTimer(): void {
    if (this.#timerRuns) return;
    this.#timerRuns = true;
    this.#runtime.setTimer(this.#everyMs, () => this.#tick());
  }

  #tick(): void {
    this.#timerRuns = false;
    const due = this.#older;
    this.#older = this.#young;
    this.#young = new Set();
    if (this.#older.size > 0) this.#runTimer();
    if (due.size > 0) inSlices(this.#runtime, due, (attended) => attended.attend());
  }
}
