/** Allows a number of events in each minute, so that requests of unknown callers fill neither a disk nor a log. */
export class MinuteLimit {
  readonly #most: number;
  #sinceMs = 0;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  lets(nowMs: number): boolean {
    // It also starts anew if the clock was set back. Otherwise nothing would pass until the old time is reached again.
    if (Math.abs(nowMs - this.#sinceMs) >= 60_000) {
      this.#sinceMs = nowMs;
      this.#count = 0;
    }
    return ++this.#count <= this.#most;
  }
}
