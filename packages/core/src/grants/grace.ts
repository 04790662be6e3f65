import type { Millis } from "../api/values.js";
import { Alarm, type AlarmClock } from "../clock/alarm-clock.js";

/** The time in which the holders of a closing provider may finish. It ends early when no holder is left. */
export class Grace extends Alarm {
  readonly over: Promise<void>;
  readonly #clock: AlarmClock;
  #end: () => void = () => {};

  constructor(clock: AlarmClock) {
    super();
    this.#clock = clock;
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Where it is called several times, the earliest time counts. */
  endBy(atMs: Millis): void {
    if (this.heapIndex === -1 || atMs < this.atMs) this.#clock.set(this, atMs);
  }

  end(): void {
    this.#clock.clear(this);
    this.#end();
  }

  ring(): void {
    this.end();
  }
}
