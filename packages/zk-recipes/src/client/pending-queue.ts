import type { Millis } from "@holdfast/core";
import type { ReplyHeader } from "@holdfast/zk-protocol";

/** One request of ours on its way. The link calls exactly one of `answered` and `unanswered`, exactly once. */
export abstract class Packet {
  /** Set when it is sent. */
  xid = 0;
  /** Monotonic time of sending, never later than the moment at which the bytes left. */
  abstract readonly sentAtMs: Millis;

  /**
   * The answer came. Called in frame order. The body is in `frame`, behind the reply header; a body exists only if
   * `header.err` is 0.
   */
  abstract answered(header: ReplyHeader, frame: Buffer): void;

  /** The connection ended before the answer. */
  abstract unanswered(): void;
}

/** A request that reports its answer alone: if the connection ends first, nothing is called. */
export class PlainPacket extends Packet {
  readonly sentAtMs: Millis;
  readonly #answered: Packet["answered"];

  constructor(sentAtMs: Millis, answered: Packet["answered"]) {
    super();
    this.sentAtMs = sentAtMs;
    this.#answered = answered;
  }

  override answered(header: ReplyHeader, frame: Buffer): void {
    this.#answered(header, frame);
  }

  override unanswered(): void {}
}

/** A queue, first in, first out. It exists because an array's own `shift()` moves all items behind it once there are many. */
export class PendingQueue<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    } else if (this.#head >= 1024 && 2 * this.#head >= this.#items.length) {
      // The items that move are no more than were taken out since the last move.
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** All items, oldest first. Nothing is taken out. */
  contents(): T[] {
    return this.#items.slice(this.#head) as T[];
  }

  drain(): T[] {
    const items = this.contents();
    this.#items = [];
    this.#head = 0;
    return items;
  }
}
