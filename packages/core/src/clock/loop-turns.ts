import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import { outsideScopes } from "../scope-store.js";

/** What the sockets had for the process up to so long ago counts as read. */
const freshForMs: Millis = 5;

/**
 * Knows when the event loop last read what the sockets had. Code that goes on in microtasks lets no timer and no socket have its turn,
 * however long it takes: nothing may be decided by what was heard "until now" unless the loop has turned.
 */
export class LoopTurns {
  readonly #runtime: Runtime;
  #readAtMs: Millis = -Infinity;
  #looking = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** What has arrived up to 5 ms ago was read. */
  get fresh(): boolean {
    return this.#runtime.nowMs() - this.#readAtMs <= freshForMs;
  }

  /** Finds out in the background, so that the next question may be answered with `true`. */
  look(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.after(() => {
      this.#looking = false;
    });
  }

  /** Runs `fn` once all that has arrived by now was read. */
  after(fn: () => void): void {
    outsideScopes(() => {
      // The first may run in the same round of the loop, behind a reading that is under way. The second runs behind one that began later.
      setImmediate(() => {
        const beganMs = this.#runtime.nowMs();
        setImmediate(() => {
          this.#readAtMs = Math.max(this.#readAtMs, beganMs);
          fn();
        });
      });
    });
  }
}
