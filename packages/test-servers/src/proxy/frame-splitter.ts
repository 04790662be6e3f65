const fourLetters = /^[a-z]{4}$/;

/** A frame longer than this is taken for a stream that is not ZooKeeper's. */
const longestFrameBytes = 64 << 20;

/**
 * Cuts one direction of a connection into ZooKeeper frames, however the bytes are chunked. A frame comes out as it
 * went in, with its four length bytes.
 *
 * A stream that starts with a four-letter word, or that has an impossible length somewhere, is `raw` from there on:
 * its bytes come out as they arrive.
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

  /** Adds a chunk. @returns the frames that are complete now, in order; chunks as they are once `raw`. */
  push(chunk: Buffer): Buffer[] {
    if (this.#raw) return [chunk];
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    const frames: Buffer[] = [];
    if (this.#bytes < this.#needed) return frames;
    // Joined only when something can come out of it, so a big frame in many chunks is copied once.
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

  /** What has arrived of a frame that is not complete. */
  takeRest(): Buffer {
    const rest = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    this.#needed = 4;
    return rest;
  }
}
