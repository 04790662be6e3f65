import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import { Alarm, type AlarmClock } from "../clock/alarm-clock.js";

export interface Bounded<T> {
  /** `false` when the time was over first. */
  readonly done: boolean;
  readonly value?: T;
  readonly error?: unknown;
}

/** Waits for `work` for so long at most, and never rejects: what `work` does later is of no interest to the caller. */
export function within<T>(
  clocks: { readonly runtime: Runtime; readonly waitAlarms: AlarmClock },
  work: Promise<T>,
  limitMs: Millis,
): Promise<Bounded<T>> {
  return new Promise((resolve) => {
    const limit = new Limit(() => resolve({ done: false }));
    clocks.waitAlarms.set(limit, clocks.runtime.nowMs() + limitMs);
    const settle = (result: Bounded<T>): void => {
      clocks.waitAlarms.clear(limit);
      resolve(result);
    };
    work.then(
      (value) => settle({ done: true, value }),
      (error) => settle({ done: true, error: error ?? new Error("rejected without a reason") }),
    );
  });
}

class Limit extends Alarm {
  readonly ring: () => void;
  constructor(ring: () => void) {
    super();
    this.ring = ring;
  }
}
