import type { Socket } from "node:net";

/**
 * Collects frames, so that everything sent in one batch, or in one turn of the loop, leaves in one write. The socket takes any
 * amount: order never depends on its back pressure, where the library stops in the middle of its queue.
 */
export class Outbox {
  readonly #socket: () => Socket | undefined;
  #frames: Buffer[] = [];
  #batches = 0;
  #flushDue = false;

  constructor(socket: () => Socket | undefined) {
    this.#socket = socket;
  }

  add(frame: Buffer): void {
    this.#frames.push(frame);
    if (this.#batches > 0 || this.#flushDue) return;
    this.#flushDue = true;
    process.nextTick(() => {
      this.#flushDue = false;
      if (this.#batches === 0) this.flush();
    });
  }

  batch(write: () => void): void {
    this.#batches += 1;
    try {
      write();
    } finally {
      this.#batches -= 1;
      if (this.#batches === 0) this.flush();
    }
  }

  flush(): void {
    if (this.#frames.length === 0) return;
    const frames = this.#frames;
    this.#frames = [];
    const socket = this.#socket();
    if (socket === undefined || socket.destroyed) return; // its `close` is coming and tells the packets
    socket.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames));
  }

  /** The connection is over. */
  clear(): void {
    this.#frames = [];
  }
}
