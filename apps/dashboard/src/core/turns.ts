const sliceMs = 8;
/** The clock is read once for this many steps. */
const stepsAtATime = 64;

const waiting: (() => void)[] = [];

/**
 * Lets everything else that is due run first. Of all calls that wait here, one continues in each turn of the event
 * loop. Otherwise the slices of several walks would follow each other without a pause.
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

/** Does work on very many things in slices, so that streams and requests are served in between. */
export class Turns {
  #steps = 0;
  #sinceMs: number = performance.now();

  /** Call it at each step. `true` means that it is time to call `next`. */
  isOver(): boolean {
    return ++this.#steps % stepsAtATime === 0 && performance.now() - this.#sinceMs >= sliceMs;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#sinceMs = performance.now();
  }
}
