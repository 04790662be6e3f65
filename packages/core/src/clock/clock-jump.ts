import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";

const toleratedMs = 100;

/**
 * Notices that the machine slept. During a suspend the monotonic clock may stand still while a server's lease runs on. So
 * when the wall clock has moved further than the monotonic clock, every lease is in doubt. A wall clock that was set forward
 * looks the same: that costs one renewal and nothing else.
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
      // The wall clock was set back. That is no danger, but the next jump has to be measured from here.
      this.#offsetMs = offsetMs;
    }
    return this.epoch;
  }
}
