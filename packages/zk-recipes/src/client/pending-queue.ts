import type { Millis } from "@holdfast/core";
import type { ReplyHeader } from "@holdfast/zk-protocol";

/** One request of ours on its way. The link calls exactly one of the two methods, exactly once. */
export abstract class Packet {
  /** Set when it is sent. */
  xid = 0;
  /** Monotonic: never later than the bytes left. */
  abstract readonly sentAtMs: Millis;

  /** In frame order. The body is in `frame`, behind the reply header; there is one only if `header.err` is 0. */
  abstract answered(header: ReplyHeader, frame: Buffer): void;

  /** The connection ended first. */
  abstract unanswered(): void;
}

/** A request whose sender only listens for the answer. */
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

/** First in, first out. An array's own `shift()` moves everything behind it once there are many. */
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
      // No more are moved than were taken out since the last time.
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** What is in it, oldest first, without taking anything out. */
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
