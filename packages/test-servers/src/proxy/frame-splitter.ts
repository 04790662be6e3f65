const fourLetters = /^[a-z]{4}$/;

/** A longer frame means that the stream is not ZooKeeper's. */
const longestFrameBytes = 64 << 20;

/**
 * Cuts one direction of a connection into ZooKeeper frames, however the bytes are split into chunks. A frame comes out
 * unchanged, with its four length bytes.
 *
 * If a stream starts with a four-letter word, or has an impossible length somewhere, it is `raw` from there on: its
 * bytes come out as they arrive.
 */
export class FrameSplitter {
  #parts: Buffer[] = [];
  #bytes = 0;
  #needed = 4;
  #started = false;
  #raw = false;

  get raw(): boolean {
    return this.#raw;
  }

  /** Adds a chunk. @returns the frames that are complete now, in order; once `raw`, the chunk as it is. */
  push(chunk: Buffer): Buffer[] {
    if (this.#raw) return [chunk];
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    const frames: Buffer[] = [];
    if (this.#bytes < this.#needed) return frames;
    // Joined only when something can come out of it, so that a big frame in many chunks is copied once.
    const joined = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    let at = 0;
    for (;;) {
      if (joined.length - at < 4) {
        this.#needed = 4;
        break;
      }
      const length = joined.readInt32BE(at);
      const isWord = !this.#started && fourLetters.test(joined.toString("latin1", at, at + 4));
      if (isWord || length < 0 || length > longestFrameBytes) {
        this.#raw = true;
        frames.push(joined.subarray(at));
        at = joined.length;
        break;
      }
      if (joined.length - at < 4 + length) {
        this.#needed = 4 + length;
        break;
      }
      this.#started = true;
      frames.push(joined.subarray(at, at + 4 + length));
      at += 4 + length;
    }
    const rest = joined.subarray(at);
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    return frames;
  }

  /** The bytes of a frame that has not arrived completely. */
  takeRest(): Buffer {
    const rest = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    this.#needed = 4;
    return rest;
  }
}
