import type { Millis } from "@holdfast/core";

/** The methods of a socket that are used here. */
export interface Tap {
  pause(): unknown;
  resume(): unknown;
}

export interface ReadTurnsClock {
  nowMs(): Millis;
  /** Calls `fn` when the event loop has gone round once: everything else that was due has had its turn by then. */
  nextTurn(fn: () => void): void;
}

/**
 * Limits how much of one turn of the event loop goes into the bytes of a socket. Without it Node.js reads up to 2 MiB at
 * a stretch, which may be ten thousand events.
 *
 * The rest waits in the socket, and the server notices the back pressure. Nothing is kept here, so nothing can be lost or
 * overtaken. Each turn handles at least one piece, of 64 KiB at most.
 */
export class ReadTurns {
  readonly #budgetMs: Millis;
  readonly #clock: ReadTurnsClock;
  #spentMs: Millis = 0;
  #underWay = false;
  #paused: Tap | null = null;
  #behind = false;

  constructor(budgetMs: Millis, clock: ReadTurnsClock) {
    this.#budgetMs = budgetMs;
    this.#clock = clock;
  }

  /**
   * More came than one turn handles, and no later turn has read to the end of it. Bytes that have arrived may still be
   * unread.
   */
  get behind(): boolean {
    return this.#behind;
  }

  /** Does `work` with bytes that came from `tap`. The time of the microtasks that `work` queues counts too. */
  take(tap: Tap, work: () => void): void {
    if (!this.#underWay) this.#begin();
    const begunMs = this.#clock.nowMs();
    work();
    queueMicrotask(() => {
      this.#spentMs += this.#clock.nowMs() - begunMs;
      if (this.#spentMs < this.#budgetMs || this.#paused !== null) return;
      this.#paused = tap;
      this.#behind = true;
      tap.pause();
    });
  }

  #begin(): void {
    this.#underWay = true;
    this.#clock.nextTurn(() => this.#over());
  }

  #over(): void {
    this.#underWay = false;
    this.#spentMs = 0;
    const paused = this.#paused;
    this.#paused = null;
    this.#behind = paused !== null;
    if (paused === null) return;
    paused.resume();
    this.#begin();
  }
}
