const sliceMs = 8;
/** The clock is asked every so many steps. */
const stepsAtATime = 64;

/** Everything else that is due gets its turn first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Work over very many things, in slices: streams and requests are served in between. */
export class Turns {
  #steps = 0;
  #sinceMs: number = performance.now();

  /** Asked at each step. `true`: it is time for `next`. */
  isOver(): boolean {
    return ++this.#steps % stepsAtATime === 0 && performance.now() - this.#sinceMs >= sliceMs;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#sinceMs = performance.now();
  }
}
