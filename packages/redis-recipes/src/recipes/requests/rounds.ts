import type { Millis, Runtime } from "@holdfast/core";
import { EarliestTimer } from "@holdfast/core/internal";
import { Groups } from "./groups.js";

export interface RoundsParts<T extends object> {
  readonly runtime: Runtime;
  readonly periodMs: Millis;
  /**
   * The slot of a member; `null`: there are no slots. Members of one slot have their turn together, since they cost one call
   * then.
   */
  slotOf(each: T): number | null;
  turn(those: readonly T[]): void;
}

/** The most parts into which a period is divided. */
const mostParts = 50;
/** Up to this many members are one part, since they fit into one call. */
const partSize = 200;

/**
 * Gives each member one turn in a period and spreads the turns over it, so that ten thousand members do not ask in the same
 * moment. At most one period lies between two turns of a member, also when other members come and go.
 */
export class Rounds<T extends object> {
  readonly #parts: RoundsParts<T>;
  /** Each member with the time of its last turn: the member whose turn was longest ago is first. */
  readonly #order = new Map<T, Millis>();
  readonly #bySlot = new Groups<number, T>();
  /** When the last turn was, and how many members had it. */
  #turnMs: Millis = -Infinity;
  #turnSize = 0;
  readonly #timer: EarliestTimer;

  constructor(parts: RoundsParts<T>) {
    this.#parts = parts;
    this.#timer = new EarliestTimer(parts.runtime, () => this.#tick());
  }

  /** Adds a member as if it had just had a turn. */
  add(each: T): void {
    this.#order.set(each, this.#parts.runtime.nowMs());
    const slot = this.#parts.slotOf(each);
    if (slot !== null) this.#bySlot.add(slot, each);
    this.#arm();
  }

  remove(each: T): void {
    if (!this.#order.delete(each)) return;
    const slot = this.#parts.slotOf(each);
    if (slot !== null) this.#bySlot.remove(slot, each);
  }

  close(): void {
    this.#timer.clear();
    this.#order.clear();
    this.#bySlot.clear();
  }

  #arm(): void {
    const [oldestMs] = this.#order.values();
    if (oldestMs === undefined) return;
    const { runtime, periodMs } = this.#parts;
    // Members that share a slot may be more than one part, and their turn uses up that much more of the period.
    const usedMs = (periodMs * this.#turnSize) / this.#order.size;
    const soonMs = Math.max(runtime.nowMs() + periodMs / this.#partCount(), this.#turnMs + usedMs);
    // If many members have left, the parts of the others are longer, and the oldest member decides when the timer rings.
    this.#timer.ringBy(Math.min(soonMs, oldestMs + periodMs));
  }

  #tick(): void {
    const wanted = Math.ceil(this.#order.size / this.#partCount());
    const those = new Set<T>();
    for (const each of this.#order.keys()) {
      if (those.size >= wanted) break;
      const slot = this.#parts.slotOf(each);
      if (slot === null) those.add(each);
      else for (const mate of this.#bySlot.of(slot)) those.add(mate);
    }
    const nowMs = this.#parts.runtime.nowMs();
    for (const each of those) {
      this.#order.delete(each);
      this.#order.set(each, nowMs);
    }
    this.#turnMs = nowMs;
    this.#turnSize = those.size;
    this.#arm();
    if (those.size > 0) this.#parts.turn([...those]);
  }

  #partCount(): number {
    return Math.max(1, Math.min(mostParts, Math.ceil(this.#order.size / partSize)));
  }
}
