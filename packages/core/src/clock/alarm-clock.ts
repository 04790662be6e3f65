import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import { inSlices } from "./slices.js";

/** Something that is to be done at a given time. An alarm is in one clock at most, and rings once for each `set`. */
export abstract class Alarm {
  /** Place in the clock's heap; -1 when not set. Only the clock touches it and `atMs`. */
  heapIndex = -1;
  atMs: Millis = 0;

  abstract ring(): void;
}

const lingerMs: Millis = 20;

/**
 * Thousands of deadlines on one timer: a binary heap of alarms, so that 10,000 holds cost one timer of the
 * runtime. Setting and clearing are O(log n).
 *
 * With `ref: true` alarms keep the process alive while they are set, and up to 20 ms longer. Without it they never do.
 *
 * Most alarms are cleared soon, and setting a timer of the runtime costs more than the wait that the alarm limits. So a timer
 * stays set when its alarm is cleared, and may wake up for nothing. A timer that keeps the process alive is first set for 20
 * ms. It is set for the time of its alarm only if that alarm is still set then.
 */
export class AlarmClock {
  readonly #runtime: Runtime;
  readonly #ref: boolean;
  readonly #heap: Alarm[] = [];
  #cancelTimer: (() => void) | undefined;
  #timerAtMs: Millis = Infinity;
  /** Whether the timer is set for more than 20 ms and keeps the process alive. */
  #holding = false;

  constructor(runtime: Runtime, options: { ref: boolean }) {
    this.#runtime = runtime;
    this.#ref = options.ref;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Sets or moves an alarm. `Infinity` clears it. */
  set(alarm: Alarm, atMs: Millis): void {
    if (atMs === Infinity) {
      this.clear(alarm);
      return;
    }
    alarm.atMs = atMs;
    if (alarm.heapIndex === -1) {
      alarm.heapIndex = this.#heap.length;
      this.#heap.push(alarm);
      this.#rise(alarm);
    } else {
      this.#rise(alarm);
      this.#sink(alarm);
    }
    this.#arm(this.#ref ? lingerMs : Infinity);
  }

  clear(alarm: Alarm): void {
    if (alarm.heapIndex === -1) return;
    this.#remove(alarm);
    if (this.#holding && this.#heap.length === 0) this.#disarm();
  }

  /** Forgets all alarms. */
  close(): void {
    for (const alarm of this.#heap) alarm.heapIndex = -1;
    this.#heap.length = 0;
    this.#disarm();
  }

  #arm(atMostMs: Millis): void {
    const first = this.#heap[0];
    if (first === undefined || first.atMs >= this.#timerAtMs) return;
    this.#cancelTimer?.();
    const nowMs = this.#runtime.nowMs();
    const leftMs = Math.max(0, first.atMs - nowMs);
    this.#holding = this.#ref && leftMs > lingerMs && atMostMs > lingerMs;
    this.#timerAtMs = leftMs > atMostMs ? nowMs + atMostMs : first.atMs;
    // Rounded up: a timer of the runtime may count in whole milliseconds and would wake a moment too early.
    const delayMs = Math.ceil(Math.min(leftMs, atMostMs));
    this.#cancelTimer = this.#runtime.setTimer(delayMs, this.#tick, { ref: this.#ref });
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerAtMs = Infinity;
  }

  readonly #tick = (): void => {
    this.#cancelTimer = undefined;
    this.#timerAtMs = Infinity;
    const rung = (): void => this.#arm(Infinity);
    // Most timers find that their alarm was cleared.
    if ((this.#heap[0]?.atMs ?? Infinity) > this.#runtime.nowMs()) return rung();
    inSlices(this.#runtime, this.#due(), (alarm) => alarm.ring(), rung);
  };

  /** Yields at most as many alarms as are set now. Alarms that are set anew for a time already past wait for the next tick. */
  *#due(): Generator<Alarm> {
    const nowMs = this.#runtime.nowMs();
    for (let left = this.#heap.length; left > 0; left--) {
      const first = this.#heap[0];
      if (first === undefined || first.atMs > nowMs) return;
      this.#remove(first);
      yield first;
    }
  }

  #remove(alarm: Alarm): void {
    const index = alarm.heapIndex;
    alarm.heapIndex = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === alarm) return;
    last.heapIndex = index;
    this.#heap[index] = last;
    this.#rise(last);
    this.#sink(last);
  }

  #rise(alarm: Alarm): void {
    let index = alarm.heapIndex;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex] as Alarm;
      if (parent.atMs <= alarm.atMs) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(alarm, index);
  }

  #sink(alarm: Alarm): void {
    let index = alarm.heapIndex;
    for (;;) {
      let childIndex = 2 * index + 1;
      let child = this.#heap[childIndex];
      if (child === undefined) break;
      const right = this.#heap[childIndex + 1];
      if (right !== undefined && right.atMs < child.atMs) {
        child = right;
        childIndex++;
      }
      if (child.atMs >= alarm.atMs) break;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(alarm, index);
  }

  #put(alarm: Alarm, index: number): void {
    this.#heap[index] = alarm;
    alarm.heapIndex = index;
  }
}
