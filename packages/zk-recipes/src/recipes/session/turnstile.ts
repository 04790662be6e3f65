import { PendingQueue } from "../../client/pending-queue.js";

/**
 * Lets a limited number through at once; the rest wait in order. Answers come in the order of the requests, keep-alives
 * among them: a burst that the server works on for longer than the session lasts would cost all its nodes.
 */
export class Turnstile {
  readonly #limit: number;
  readonly #waiting = new PendingQueue<() => void>();
  #inside = 0;
  #admitting = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `pass` now or when it is its turn. Each `pass` is followed by one `leave()`. */
  enter(pass: () => void): void {
    if (this.#inside >= this.#limit) {
      this.#waiting.push(pass);
      return;
    }
    this.#inside++;
    pass();
  }

  leave(): void {
    this.#inside--;
    // A loop and no recursion: thousands in a row may leave at once.
    if (this.#admitting) return;
    this.#admitting = true;
    while (this.#inside < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#inside++;
      next();
    }
    this.#admitting = false;
  }
}
