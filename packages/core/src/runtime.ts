import type { Runtime } from "./api/runtime.js";
import { outsideScopes } from "./scope-store.js";

/** The longest delay of Node's timers. With a longer delay they would fire at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/**
 * The clocks, timers and random numbers of this process. A delay above 2^31 - 1 ms fires early, at that limit: a caller that
 * needs the full time compares the clock when woken and sets the timer again. Timers run outside of every `withLock` scope.
 */
export const systemRuntime: Runtime = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  random: () => Math.random(),
  randomId: () => crypto.randomUUID(),
  setTimer(delayMs, fn, options) {
    // One timer often serves many tasks, and a timer that sets the next one would keep the scope of the first for ever.
    const timer = outsideScopes(() => setTimeout(fn, Math.min(Math.max(delayMs, 0), longestTimerMs)));
    if (options?.ref !== true) timer.unref();
    return () => clearTimeout(timer);
  },
};
