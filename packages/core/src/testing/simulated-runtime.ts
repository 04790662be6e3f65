import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import { seededRandom } from "./random.js";
import { type Timer, TimerHeap } from "./timer-heap.js";

/**
 * A clock that moves only when one of these methods moves it, and random numbers that repeat: the same seed gives the same run.
 */
export interface SimulatedRuntime extends Runtime {
  /** The seed that it was made with. */
  readonly seed: number;
  /** How many timers are set and have not run. */
  readonly pendingTimers: number;
  /** Time passes and no timer runs, as when the event loop is blocked or the process stopped. */
  block(forMs: Millis): void;
  /** The wall clock is set; the monotonic clock does not notice. */
  stepWall(byMs: Millis): void;
  /** Runs the next timer, at its time, and then everything that follows from it. `false` when there is none. */
  step(): Promise<boolean>;
  /** Lets `forMs` milliseconds pass, and runs all timers of that time in order, also those that are set meanwhile. */
  advance(forMs: Millis): Promise<void>;
  /** Runs the next timer by itself whenever all other code has come to rest, until the result is disposed. */
  autoAdvance(): Disposable;
}

/**
 * A runtime whose time stands still until it is moved. Timers that are due at the same moment run in an order drawn
 * from the seed.
 */
export function simulatedRuntime(seed: number): SimulatedRuntime {
  const random = seededRandom(seed);
  const timers = new TimerHeap();
  let nowMs = 1_000;
  let wallOffsetMs = Date.UTC(2026, 0, 1);

  const run = (timer: Timer): void => {
    timers.delete(timer);
    nowMs = Math.max(nowMs, timer.atMs);
    timer.fn();
  };

  return {
    seed,
    get pendingTimers() {
      return timers.size;
    },
    nowMs: () => nowMs,
    wallMs: () => nowMs + wallOffsetMs,
    random,
    randomId() {
      const hex = () =>
        Math.floor(random() * 2 ** 32)
          .toString(16)
          .padStart(8, "0");
      const digits = hex() + hex() + hex() + hex();
      return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    },
    setTimer(delayMs, fn) {
      const timer: Timer = { atMs: nowMs + Math.max(0, delayMs), tie: random(), fn };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    block(forMs) {
      nowMs += forMs;
    },
    stepWall(byMs) {
      wallOffsetMs += byMs;
    },
    async step() {
      await atRest();
      const timer = timers.next(Infinity);
      if (timer === undefined) return false;
      run(timer);
      await atRest();
      return true;
    },
    async advance(forMs) {
      const endMs = nowMs + forMs;
      await atRest();
      for (let timer = timers.next(endMs); timer !== undefined; timer = timers.next(endMs)) {
        run(timer);
        await atRest();
      }
      nowMs = Math.max(nowMs, endMs);
    },
    autoAdvance() {
      let stopped = false;
      const turn = (): void => {
        if (stopped) return;
        const timer = timers.next(Infinity);
        if (timer !== undefined) run(timer);
        void atRest().then(turn);
      };
      void atRest().then(turn);
      return {
        [Symbol.dispose]() {
          stopped = true;
        },
      };
    },
  };
}

/**
 * Resolves when all promise reactions have run, and all code that waits for a turn of the event loop. Three macrotasks in a
 * row come after both.
 */
function atRest(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
}
