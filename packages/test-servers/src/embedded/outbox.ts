import type { Clock } from "./clock.js";
import { Gate } from "./gate.js";

/** A limited speed of sending: so many bytes, or one frame, at every interval. */
export interface Pace {
  /** How much goes out at a time. */
  readonly bytes: number | "frame";
  /** Milliseconds between two sends. */
  readonly everyMs: number;
}

/** What has to go out on one connection, in order. A gate in it holds up everything behind it. */
export class Outbox {
  readonly #clock: Clock;
  readonly #write: (bytes: Buffer) => void;
  readonly #isPaused: () => boolean;
  readonly #emptied: () => void;
  #queue: (Buffer | Gate)[] = [];
  #pace: Pace | undefined;
  #pacing = false;
  #stalled = false;
  /** The number of frames pushed so far. */
  pushed = 0;

  constructor(options: {
    readonly clock: Clock;
    isPaused(): boolean;
    write(bytes: Buffer): void;
    /** Called when everything in the queue has gone out. */
    emptied(): void;
  }) {
    this.#clock = options.clock;
    this.#isPaused = () => options.isPaused();
    this.#write = (bytes) => options.write(bytes);
    this.#emptied = () => options.emptied();
  }

  /** How many frames and gates are still in the queue. */
  get queued(): number {
    return this.#queue.length;
  }

  push(frame: Buffer): void {
    if (this.#stalled) return;
    this.pushed += 1;
    this.#queue.push(frame);
  }

  pushGate(gate: Gate): void {
    if (this.#stalled || gate.opened) return;
    this.#queue.push(gate);
    gate.onOpen(() => this.flush());
  }

  /** Puts frames in front of a gate and of everything behind it, or at the end if the gate is gone. */
  insertAt(gate: Gate, frames: readonly Buffer[]): void {
    const at = this.#queue.indexOf(gate);
    this.#queue.splice(at === -1 ? this.#queue.length : at, 0, ...frames);
  }

  /** Keeps the first `kept` of the last `count` entries. */
  truncate(count: number, kept: number): void {
    this.#queue.length = Math.max(0, this.#queue.length - count + kept);
  }

  clear(): void {
    this.#queue.length = 0;
  }

  /** What is in the queue still goes out; what is pushed later does not. */
  stall(): void {
    this.flush();
    this.#stalled = true;
  }

  setPace(pace: Pace | undefined): void {
    this.#pace = pace;
    this.flush();
  }

  /** Writes everything that no gate or pace holds up, in one piece. */
  flush(): void {
    if (this.#queue.length === 0 || this.#isPaused()) return;
    if (this.#pace !== undefined) {
      this.#startPacing(this.#pace);
      return;
    }
    const ready = this.#takeReady();
    const only = ready[0];
    if (only !== undefined) this.#write(ready.length === 1 ? only : Buffer.concat(ready));
    if (this.#queue.length === 0) this.#emptied();
  }

  #takeReady(): Buffer[] {
    let blockedAt = this.#queue.length;
    const ready: Buffer[] = [];
    for (const [index, entry] of this.#queue.entries()) {
      if (!(entry instanceof Gate)) {
        ready.push(entry);
      } else if (!entry.opened) {
        blockedAt = index;
        break;
      }
    }
    if (blockedAt === this.#queue.length) this.#queue = [];
    else this.#queue.splice(0, blockedAt);
    return ready;
  }

  #startPacing(pace: Pace): void {
    if (this.#pacing) return;
    this.#pacing = true;
    this.#clock.at(this.#clock.nowMs() + pace.everyMs, () => {
      this.#pacing = false;
      if (!this.#isPaused()) this.#writePiece(pace.bytes);
      if (this.#queue.length === 0) this.#emptied();
      else this.flush();
    });
  }

  #writePiece(bytes: number | "frame"): void {
    while (this.#queue[0] instanceof Gate && this.#queue[0].opened) this.#queue.shift();
    const first = this.#queue[0];
    if (first === undefined || first instanceof Gate) return;
    if (bytes === "frame" || first.length <= bytes) {
      this.#queue.shift();
      this.#write(first);
      return;
    }
    this.#queue[0] = first.subarray(bytes);
    this.#write(first.subarray(0, bytes));
  }
}
