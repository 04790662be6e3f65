const sliceMs = 8;
/** The clock is asked every so many steps. */
const stepsAtATime = 64;

const waiting: (() => void)[] = [];

/**
 * Everything else that is due gets its turn first. Of all that wait here one goes on in each turn of the event loop: the slices of several
 * walks would else follow each other without a pause.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letOneGoOn);
  });
}

function letOneGoOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(letOneGoOn);
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
