import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import { outsideScopes } from "../scope-store.js";

/** It is enough when everything that had reached the sockets until this long ago was read. */
const freshForMs: Millis = 5;

/**
 * Knows when the event loop last read everything from the sockets. Code that goes on in microtasks lets no timer and no socket
 * have its turn, however long it takes. So nothing may be decided by what was received "until now" unless the loop has turned.
 */
export class LoopTurns {
  readonly #runtime: Runtime;
  #readAtMs: Millis = -Infinity;
  #looking = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Whether everything that had arrived up to 5 ms ago was read. */
  get fresh(): boolean {
    return this.#runtime.nowMs() - this.#readAtMs <= freshForMs;
  }

  /** Checks in the background, so that `fresh` may be `true` the next time. */
  look(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.after(() => {
      this.#looking = false;
    });
  }

  /** Runs `fn` once everything that has arrived by now was read. */
  after(fn: () => void): void {
    outsideScopes(() => {
      // The first callback may run in the same round of the loop, after a read of the sockets that is already under way. The
      // second one runs after a read that began later.
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
