/** Redis' own limit for one bulk string. A longer one, or a longer line, means that the stream is not RESP. */
const longestBulkBytes = 512 << 20;
const longestLineBytes = 64 << 10;

const cr = 0x0d;
const lf = 0x0a;

/**
 * Cuts one direction of a connection into whole RESP values, of version 2 and 3 alike, however the bytes are split into
 * chunks. A value comes out unchanged.
 *
 * A client may also send an inline command, a line that starts with no type; it comes out as one value. A stream that
 * cannot be RESP (TLS, for one) is `raw` from there on: its bytes come out as they arrive.
 */
export class RespSplitter {
  readonly #inline: boolean;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** How far the incomplete value has been read. Nothing before this place is read again. */
  #at = 0;
  /** How many values the incomplete one still lacks, itself included; 0 between two values. */
  #missing = 0;
  #needed = 1;
  #raw = false;

  /** @param from the sender: only a client may send inline commands. */
  constructor(from: "client" | "server") {
    this.#inline = from === "client";
  }

  get raw(): boolean {
    return this.#raw;
  }

  /**
   * From here on the stream is not RESP any more, as after PSYNC. An incomplete value comes out with the next chunk.
   */
  giveUp(): void {
    this.#raw = true;
  }

  /** Adds a chunk. @returns the values that are complete now, in order; once `raw`, the bytes as they are. */
  push(chunk: Buffer): Buffer[] {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    if (this.#raw) return [this.takeRest()];
    // Joined only when something can come out of it, so that a big value in many chunks is copied once.
    if (this.#bytes < this.#needed) return [];
    const joined = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    const values: Buffer[] = [];
    let start = 0;
    for (;;) {
      const end = this.#scan(joined, start);
      if (end === undefined) break;
      values.push(joined.subarray(start, end));
      start = end;
      this.#at = 0;
      if (this.#raw) break;
    }
    const rest = joined.subarray(start);
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    return values;
  }

  /** The bytes of a value that has not arrived completely. */
  takeRest(): Buffer {
    const rest = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    this.#at = 0;
    this.#missing = 0;
    this.#needed = 1;
    return rest;
  }

  /** @returns where the value that begins at `start` ends; undefined if it has not arrived completely. */
  #scan(bytes: Buffer, start: number): number | undefined {
    let at = start + this.#at;
    let missing = this.#missing === 0 ? 1 : this.#missing;
    while (missing > 0) {
      if (at >= bytes.length) return this.#pause(start, at, missing, at + 1);
      const type = String.fromCharCode(bytes[at] ?? 0);
      const isInline = this.#inline && at === start && /[A-Za-z\s]/.test(type);
      // Decided before the end of the line has come, because there may never be one.
      if (!headers.has(type) && !simple.has(type) && !isInline) return this.#surrender(bytes);
      const lineEnd = bytes.indexOf(lf, at);
      if (lineEnd === -1) {
        if (bytes.length - at > longestLineBytes) return this.#surrender(bytes);
        return this.#pause(start, at, missing, at + 1);
      }
      const size = headers.has(type) ? sizeOf(bytes, at, lineEnd) : 0;
      if (size === undefined) return this.#surrender(bytes);
      if (bulks.has(type)) {
        // A null bulk of RESP2 has no body, not even the line end.
        const end = size < 0 ? lineEnd + 1 : lineEnd + 1 + size + 2;
        if (bytes.length < end) return this.#pause(start, at, missing, end);
        at = end;
        missing--;
      } else if (type in aggregates) {
        // An attribute is not a value itself: the value that it describes follows.
        missing += Math.max(size, 0) * (aggregates[type] ?? 1) - (type === "|" ? 0 : 1);
        at = lineEnd + 1;
      } else {
        at = lineEnd + 1;
        missing--;
      }
    }
    this.#missing = 0;
    this.#needed = 1;
    return at;
  }

  #pause(start: number, at: number, missing: number, needed: number): undefined {
    this.#at = at - start;
    this.#missing = missing;
    this.#needed = needed - start;
    return undefined;
  }

  #surrender(bytes: Buffer): number {
    this.#raw = true;
    this.#missing = 0;
    return bytes.length;
  }
}

/** Types whose first line is a number of bytes. */
const bulks: ReadonlySet<string> = new Set(["$", "!", "="]);

/** Types whose first line is a number of elements, and how many values each element stands for. */
const aggregates: Readonly<Record<string, number>> = { "*": 1, "~": 1, ">": 1, "%": 2, "|": 2 };

/** Types that are one line: simple string, error, integer, null, boolean, double, big number. */
const simple: ReadonlySet<string> = new Set(["+", "-", ":", "_", "#", ",", "("]);

const headers: ReadonlySet<string> = new Set([...bulks, ...Object.keys(aggregates)]);

function sizeOf(bytes: Buffer, at: number, lineEnd: number): number | undefined {
  if (bytes[lineEnd - 1] !== cr) return undefined;
  const text = bytes.toString("latin1", at + 1, lineEnd - 1);
  if (!/^(-1|\d{1,9})$/.test(text)) return undefined;
  const size = Number(text);
  return size > longestBulkBytes ? undefined : size;
}
