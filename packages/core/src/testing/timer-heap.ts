import type { Millis } from "../api/values.js";

export interface Timer {
  readonly atMs: Millis;
  /** Decides the order of timers for the same moment by chance, because programs must not rely on that order. */
  readonly tie: number;
  readonly fn: () => void;
}

/** Timers by time and tie: thousands of them, of which most are cancelled before they are due. */
export class TimerHeap {
  readonly #live = new Set<Timer>();
  /** A binary heap. A cancelled timer stays in it until it comes to the top. */
  readonly #heap: Timer[] = [];

  get size(): number {
    return this.#live.size;
  }

  add(timer: Timer): void {
    this.#live.add(timer);
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Timer;
      if (!before(timer, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = timer;
  }

  delete(timer: Timer): void {
    this.#live.delete(timer);
  }

  /** The next timer at or before `untilMs`. It stays in the heap. */
  next(untilMs: Millis): Timer | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (top !== undefined && !this.#live.has(top)) this.#drop();
      else return top !== undefined && top.atMs <= untilMs ? top : undefined;
    }
  }

  #drop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Timer;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Timer, heap[child] as Timer)) child += 1;
      if (!before(heap[child] as Timer, last)) break;
      heap[at] = heap[child] as Timer;
      at = child;
    }
    heap[at] = last;
  }
}

function before(one: Timer, other: Timer): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.tie < other.tie);
}
