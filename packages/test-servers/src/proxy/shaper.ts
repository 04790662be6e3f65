/** What travels in one direction of a connection: bytes, the orderly end, or a reset. */
export type StreamItem = Buffer | "fin" | "rst";

/** How much slower than the machine one direction is made. */
export interface Shape {
  /** Each byte arrives this many milliseconds later. */
  delayMs: number;
  /** Bytes per second; Infinity for no limit. */
  bytesPerS: number;
}

// A slow line delivers a little at a time. Without pieces, a big chunk would arrive at once after a long silence.
const piecesPerS = 20;

/**
 * Delays one direction of one connection and limits its rate; the order is kept. If nothing is to be delayed and
 * nothing waits, items pass at once in the caller's turn, so that a burst stays a burst.
 */
export class Shaper {
  readonly #shape: () => Shape;
  readonly #deliver: (item: StreamItem) => void;
  readonly #queue: { item: StreamItem; dueMs: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lineFreeMs = 0;

  constructor(shape: () => Shape, deliver: (item: StreamItem) => void) {
    this.#shape = shape;
    this.#deliver = deliver;
  }

  push(item: StreamItem): void {
    const { delayMs, bytesPerS } = this.#shape();
    if (this.#queue.length === 0 && delayMs === 0 && bytesPerS === Number.POSITIVE_INFINITY) {
      this.#deliver(item);
      return;
    }
    const nowMs = performance.now();
    for (const piece of pieces(item, bytesPerS)) {
      const length = typeof piece === "string" ? 0 : piece.length;
      this.#lineFreeMs = Math.max(this.#lineFreeMs, nowMs) + (length / bytesPerS) * 1_000;
      this.#queue.push({ item: piece, dueMs: this.#lineFreeMs + delayMs });
    }
    this.#arm();
  }

  /** Drops everything that is under way. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queue.length = 0;
  }

  #arm(): void {
    const head = this.#queue[0];
    if (this.#timer !== undefined || head === undefined) return;
    this.#timer = setTimeout(() => this.#run(), Math.max(0, head.dueMs - performance.now()));
  }

  #run(): void {
    this.#timer = undefined;
    // Timers may come up to a millisecond early.
    const nowMs = performance.now() + 1;
    while (this.#queue.length > 0 && (this.#queue[0]?.dueMs ?? 0) <= nowMs) {
      const next = this.#queue.shift();
      if (next !== undefined) this.#deliver(next.item);
    }
    this.#arm();
  }
}

function* pieces(item: StreamItem, bytesPerS: number): Generator<StreamItem> {
  if (typeof item === "string" || bytesPerS === Number.POSITIVE_INFINITY) {
    yield item;
    return;
  }
  const size = Math.max(1, Math.floor(bytesPerS / piecesPerS));
  for (let start = 0; start < item.length; start += size) yield item.subarray(start, start + size);
}
