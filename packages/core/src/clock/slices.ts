import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import { outsideScopes } from "../scope-store.js";

/** About how long all sliced works of this process together run in one turn of the event loop. */
const sliceMs: Millis = 5;
/**
 * How many items are done before the microtasks run that these items have queued. It is enough for one batch of a driver, and
 * few enough for code that runs for the first time.
 */
const stepItems = 200;
/**
 * The least number of items between two runs of the microtasks. Steps shrink to it when they take longer than a slice, and
 * the first step of `SlicedWork` has this size.
 */
const leastItems = 60;
/** How many works of this process are not done. An event that concerns very many callers begins several works at once. */
let underWay = 0;

/**
 * Runs `each` for every item, and `done` after the last one. If the items are few, all are done at once. Work that takes
 * longer goes on in later turns of the event loop, and sockets and timers are served in between. So anything else may happen
 * between two items. The time of the microtasks that the items queue counts too.
 */
export function inSlices<T>(
  runtime: Pick<Runtime, "nowMs">,
  items: Iterable<T>,
  each: (item: T) => void,
  done: () => void = () => {},
  first: number = stepItems,
): void {
  const rest = items[Symbol.iterator]();
  let endMs: Millis;
  let beganMs: Millis;
  let size = first;
  const slice = (ofMs: Millis): void => {
    endMs = runtime.nowMs() + ofMs / underWay;
    step();
  };
  const step = (): void => {
    beganMs = runtime.nowMs();
    let more = false;
    try {
      more = some();
    } finally {
      // Also after an error, or the slices of all other works would stay smaller.
      if (!more) underWay--;
    }
    if (more) queueMicrotask(goOn);
    else done();
  };
  /** `false`: there are no more items. */
  const some = (): boolean => {
    for (let left = size; left > 0 && (left === size || runtime.nowMs() < endMs); left--) {
      const next = rest.next();
      if (next.done === true) return false;
      each(next.value);
    }
    return true;
  };
  const goOn = (): void => {
    const nowMs = runtime.nowMs();
    if (nowMs - beganMs > sliceMs) size = Math.max(leastItems, Math.ceil(size / 2));
    if (nowMs < endMs) step();
    else outsideScopes(() => setImmediate(slice, sliceMs));
  };
  underWay++;
  // The code that led here has used a part of this turn, and the next slice may run in the same turn.
  slice(sliceMs / 2);
}

/** Work that took longer than this has used its part of the turn. */
const shortMs: Millis = 1;

/**
 * Runs work that several callers add, such as reactions to news that reach many of them together. The work runs after the present
 * step of the callers, in slices. All of it together takes no more of a turn than one work. The added functions do not throw.
 */
export class SlicedWork {
  readonly #runtime: Pick<Runtime, "nowMs">;
  readonly #due = new Set<() => void>();
  #beganMs: Millis = 0;
  /** Also true from the end of a long work until the next turn. */
  #running = false;

  constructor(runtime: Pick<Runtime, "nowMs">) {
    this.#runtime = runtime;
  }

  add(work: () => void): void {
    this.#due.add(work);
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(this.#begin);
  }

  readonly #begin = (): void => {
    this.#beganMs = this.#runtime.nowMs();
    inSlices(this.#runtime, this.#due, this.#run, this.#over, leastItems);
  };

  readonly #run = (work: () => void): void => {
    this.#due.delete(work);
    work();
  };

  readonly #over = (): void => {
    if (this.#runtime.nowMs() - this.#beganMs > shortMs) outsideScopes(() => setImmediate(this.#goOn));
    else this.#running = false;
  };

  readonly #goOn = (): void => {
    if (this.#due.size > 0) this.#begin();
    else this.#running = false;
  };
}
