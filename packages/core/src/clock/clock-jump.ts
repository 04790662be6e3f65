import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";

const toleratedMs = 100;

/**
 * Notices that the machine slept. The monotonic clock may stand still in suspend while a server's lease runs on, so
 * time by the wall that passed beside it makes every lease doubtful. A stepped wall clock looks the same: that costs one
 * renewal and nothing else.
 */
export class ClockJump {
  readonly #runtime: Runtime;
  #offsetMs: Millis;
  /** Counts jumps: a lease confirmed before the last of them proves nothing. */
  epoch = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#offsetMs = runtime.wallMs() - runtime.nowMs();
  }

  /** Reads both clocks and returns the number of jumps seen so far. */
  read(): number {
    const offsetMs = this.#runtime.wallMs() - this.#runtime.nowMs();
    if (offsetMs - this.#offsetMs > toleratedMs) {
      this.epoch++;
      this.#offsetMs = offsetMs;
    } else if (offsetMs < this.#offsetMs - toleratedMs) {
      // Stepped back: no danger, but the next jump must be seen from here.
      this.#offsetMs = offsetMs;
    }
    return this.epoch;
  }
}
