/** Whatever waits for this continues when it opens. Opening twice does nothing. */
export class Gate {
  #opened = false;
  #waiting: (() => void)[] = [];

  get opened(): boolean {
    return this.#opened;
  }

  /** Calls back when the gate opens, or at once if it is open. */
  onOpen(callback: () => void): void {
    if (this.#opened) callback();
    else this.#waiting.push(callback);
  }

  open(): void {
    if (this.#opened) return;
    this.#opened = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }
}
