import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import { outsideScopes } from "../scope-store.js";

/** About how much of one turn of the event loop all sliced works of this process take together. */
const sliceMs: Millis = 5;
/** How many items are done before the microtasks run that they have queued: enough for one batch of a driver, few enough for code that runs for the first time. */
const stepItems = 200;
/** The least number of items between two runs of the microtasks: reached step by step where a step takes longer than a slice, and the first step of `SlicedWork`. */
const leastItems = 60;
/** Works of this process that are not done: what concerns very many begins several at once. */
let underWay = 0;

/**
 * Runs `each` for every item, and `done` behind the last. Few items are done at once. What takes longer goes on in later turns of the event
 * loop, between which sockets and timers are served: whatever else may happen meanwhile can happen between two items. What the items leave
 * to microtasks counts too.
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
      // Also behind an error, or the slices of all others would stay smaller.
      if (!more) underWay--;
    }
    if (more) queueMicrotask(goOn);
    else done();
  };
  /** `false`: there are no more. */
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
  // What has led here has taken a part of this turn, and the next slice may be in the same turn.
  slice(sliceMs / 2);
}

/** What took longer than this has had its part of the turn. */
const shortMs: Millis = 1;

/**
 * What several callers leave to be done, such as news that come together for many: behind their present step, in slices. All together take
 * no more of a turn than one work. What they add does not throw.
 */
export class SlicedWork {
  readonly #runtime: Pick<Runtime, "nowMs">;
  readonly #due = new Set<() => void>();
  #beganMs: Millis = 0;
  /** Also from the end of what was long until the next turn. */
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
