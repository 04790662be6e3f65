import type { HistoryRecord } from "../../history/record.js";
import type { Guard } from "./guards.js";

/** How long a message takes. */
export const networkMs = 1;
export const faultsEndMs = 6_000;

/** A virtual clock, a random number generator and a recorder. The same seed gives the same history. */
export class SimulatedWorld {
  readonly records: HistoryRecord[] = [];
  readonly without: Guard | null;
  readonly #events: { at: number; n: number; then: () => void }[] = [];
  #random: number;
  #now = 0;
  #n = 0;
  #op = 0;

  constructor(seed: number, without: Guard | null) {
    this.#random = seed * 2_654_435_761 + 1;
    this.without = without;
  }

  get nowMs(): number {
    return this.#now;
  }

  nextOp(): number {
    return ++this.#op;
  }

  has(guard: Guard): boolean {
    return this.without !== guard;
  }

  in(delayMs: number, then: () => void): void {
    const event = { at: this.#now + delayMs, n: ++this.#n, then };
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.at ?? 0) <= event.at) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, event);
  }

  run(): void {
    for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
      this.#now = next.at;
      next.then();
    }
  }

  draw(below: number): number {
    // A linear congruential generator. It is enough to vary a schedule, and gives the same numbers everywhere.
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#random / 2 ** 32) * below);
  }

  add(record: Record<string, unknown>): void {
    this.records.push({
      i: this.records.length,
      t: this.#now * 1e6,
      ...record,
    } as unknown as HistoryRecord);
  }
}
