import { closeSync, openSync, writeSync } from "node:fs";
import type { HistoryRecord } from "./record.js";

const flushAtBytes = 64 * 1024;

/**
 * Writes one record a line. Lines are buffered. `flush` and `close` write them synchronously, so that a handler of a
 * dying process can still call them.
 */
export class HistoryWriter {
  readonly #file: number;
  #lines: string[] = [];
  #length = 0;
  #open = true;

  constructor(path: string) {
    this.#file = openSync(path, "w");
  }

  /** Appends one record. It is in the file after the next `flush()`, or when the buffer is full. */
  write(record: HistoryRecord): void {
    if (!this.#open) throw new Error("the history is closed");
    const line = `${JSON.stringify(record)}\n`;
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= flushAtBytes) this.flush();
  }

  /** Writes the buffered records to the file. */
  flush(): void {
    if (this.#lines.length === 0) return;
    const bytes = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    this.#length = 0;
    for (let from = 0; from < bytes.length; ) from += writeSync(this.#file, bytes, from);
  }

  /** Flushes and closes the file. A second call does nothing. */
  async close(): Promise<void> {
    if (!this.#open) return;
    this.flush();
    this.#open = false;
    closeSync(this.#file);
  }
}
