/** Lets so many through in each minute, so that requests of strangers fill neither a disk nor a log. */
export class MinuteLimit {
  readonly #most: number;
  #sinceMs = 0;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  lets(nowMs: number): boolean {
    // Also where the clock was set back: it would let nothing through until the old time is reached again.
    if (Math.abs(nowMs - this.#sinceMs) >= 60_000) {
      this.#sinceMs = nowMs;
      this.#count = 0;
    }
    return ++this.#count <= this.#most;
  }
}
