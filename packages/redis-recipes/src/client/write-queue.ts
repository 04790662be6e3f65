import type { Runtime } from "@holdfast/core";
import { inSlices } from "@holdfast/core/internal";

/**
 * The most words that unanswered commands of one connection may have together. Further commands are written as answers come.
 * Otherwise a client that releases 100,000 locks would find ten thousand answers in its socket at once, and would read all of
 * them in one turn of the event loop. 1,000 words are about 80 releases, or the renewals of 200 locks. With 10 ms to the server
 * this allows 8,000 releases a second, which is more than one client can make.
 */
const mostWords = 1_000;

/**
 * What one connection writes, in order. `words`: the number of words of the commands that were written and are not answered yet.
 */
export class WriteQueue {
  readonly #runtime: Pick<Runtime, "nowMs">;
  readonly #words: () => number;
  readonly #later = new Set<() => void>();

  constructor(runtime: Pick<Runtime, "nowMs">, words: () => number) {
    this.#runtime = runtime;
    this.#words = words;
  }

  /**
   * Whether a write has to wait for its turn. Callers ask this first: nearly always nothing waits, and then no function is made.
   */
  get full(): boolean {
    return this.#later.size > 0 || this.#words() >= mostWords;
  }

  add(write: () => void): void {
    this.#later.add(write);
  }

  /** To be called whenever unanswered commands have become fewer. */
  writeMore(): void {
    for (const write of this.#later) {
      if (this.#words() >= mostWords) return;
      this.#later.delete(write);
      write();
    }
  }

  /** Nothing more can be written: each waiting write is called, and finds that there is no connection. */
  giveUp(): void {
    inSlices(this.#runtime, this.#later, (write) => {
      this.#later.delete(write);
      write();
    });
  }
}
