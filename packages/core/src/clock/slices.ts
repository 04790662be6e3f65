import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import { outsideScopes } from "../scopes/store.js";

/** So much of a turn of the event loop, about, goes into all such works together. */
const sliceMs: Millis = 8;
/** After so many items what they have left to microtasks has its turn: many enough for one call of a driver, few enough for code that runs for the first time. */
const stepItems = 200;
/** After so few at least, where so many take longer than a slice together with what they leave. */
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
): void {
  const rest = items[Symbol.iterator]();
  let endMs: Millis;
  let beganMs: Millis;
  let size = stepItems;
  const slice = (): void => {
    endMs = runtime.nowMs() + sliceMs / underWay;
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
    else outsideScopes(() => setImmediate(slice));
  };
  underWay++;
  slice();
}

/** What several callers leave to be done, such as news that come together for many: behind their present step, in slices. */
export class SlicedWork {
  readonly #runtime: Pick<Runtime, "nowMs">;
  readonly #due: (() => void)[] = [];

  constructor(runtime: Pick<Runtime, "nowMs">) {
    this.#runtime = runtime;
  }

  add(work: () => void): void {
    this.#due.push(work);
    if (this.#due.length > 1) return;
    queueMicrotask(() => inSlices(this.#runtime, this.#due.splice(0), (each) => each()));
  }
}
