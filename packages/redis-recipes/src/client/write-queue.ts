import type { Runtime } from "@holdfast/core";
import { inSlices } from "@holdfast/core/internal";

/**
 * Commands of so many words together are without an answer at most; what more is asked is written as answers come. A client that gives back
 * 100,000 locks would else find ten thousand answers in its socket at once, and read all of them in one turn of the event loop. So many are
 * about 80 releases, or the renewals of 200 locks: with 10 ms to the server 8,000 releases a second, which is more than one client can make.
 */
const mostWords = 1_000;

/** What one connection writes, in order. `words`: of the commands that were written and have no answer yet. */
export class WriteQueue {
  readonly #runtime: Pick<Runtime, "nowMs">;
  readonly #words: () => number;
  readonly #later = new Set<() => void>();

  constructor(runtime: Pick<Runtime, "nowMs">, words: () => number) {
    this.#runtime = runtime;
    this.#words = words;
  }

  /** What is to be written waits for its turn. As nearly always nothing does, it is asked first, and costs no function. */
  get full(): boolean {
    return this.#later.size > 0 || this.#words() >= mostWords;
  }

  add(write: () => void): void {
    this.#later.add(write);
  }

  /** To be called whenever there are fewer words without an answer. */
  writeMore(): void {
    for (const write of this.#later) {
      if (this.#words() >= mostWords) return;
      this.#later.delete(write);
      write();
    }
  }

  /** Nothing more can be written: each finds that there is no connection. */
  giveUp(): void {
    inSlices(this.#runtime, this.#later, (write) => {
      this.#later.delete(write);
      write();
    });
  }
}
