import type { Millis } from "@holdfast/core";

/** What is touched of a socket. */
export interface Tap {
  pause(): unknown;
  resume(): unknown;
}

export interface ReadTurnsClock {
  nowMs(): Millis;
  /** Calls when the loop has been round: whatever else is due has had its turn by then. */
  nextTurn(fn: () => void): void;
}

/**
 * Bounds what of one turn of the event loop goes into the bytes of a socket: Node.js reads up to 2 MiB at a stretch, which may be ten thousand
 * events. Whatever is beyond waits in the socket, where the server feels it: nothing is kept here, so that nothing can be lost or
 * overtaken. Each turn takes one piece at least, of 64 KiB at most.
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

  /** More came than one turn takes, and no turn since has read to the end of it: what has arrived may not be read yet. */
  get behind(): boolean {
    return this.#behind;
  }

  /** Does `work` with bytes that have come from `tap`. What it leaves to microtasks counts too. */
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
