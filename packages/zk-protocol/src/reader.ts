import { ProtocolError } from "./protocol-error.js";

/**
 * Takes one record apart. Every length is checked against the bytes that are there before anything
 * is allocated by it, so a lying one costs nothing. Bytes left over at the end are ignored, as by
 * servers.
 *
 * The `field` arguments only serve the message of a `ProtocolError`.
 */
export class Reader {
  readonly #buffer: Buffer;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get remaining(): number {
    return this.#buffer.length - this.#offset;
  }

  int(field: string): number {
    return this.#buffer.readInt32BE(this.#take(4, field));
  }

  long(field: string): bigint {
    return this.#buffer.readBigInt64BE(this.#take(8, field));
  }

  /** Any byte but 0 is true, as servers take it. */
  bool(field: string): boolean {
    return this.#buffer[this.#take(1, field)] !== 0;
  }

  /** A copy, so that what the caller keeps neither changes with nor holds on to the frame. */
  bytesOrNull(field: string): Uint8Array | null {
    const length = this.#length(field);
    if (length === -1) {
      return null;
    }
    const at = this.#take(length, field);
    const copy = new Uint8Array(length);
    copy.set(this.#buffer.subarray(at, at + length));
    return copy;
  }

  bytes(field: string): Uint8Array {
    return this.bytesOrNull(field) ?? this.#refuseNull(field);
  }

  /** UTF-8. What is not valid becomes U+FFFD, which no path may contain, rather than an error. */
  stringOrNull(field: string): string | null {
    const length = this.#length(field);
    if (length === -1) {
      return null;
    }
    const at = this.#take(length, field);
    return this.#buffer.toString("utf8", at, at + length);
  }

  string(field: string): string {
    return this.stringOrNull(field) ?? this.#refuseNull(field);
  }

  strings(field: string): string[] {
    const count = this.count(field);
    const values: string[] = [];
    for (let i = 0; i < count; i++) {
      values.push(this.string(field));
    }
    return values;
  }

  /**
   * Length of a vector. It may lie: append items as they are read and never make room by it, then
   * the end of the bytes stops the loop.
   */
  count(field: string): number {
    return this.countOrNull(field) ?? this.#refuseNull(field);
  }

  countOrNull(field: string): number | null {
    const count = this.#length(field);
    return count === -1 ? null : count;
  }

  /** All that is left, as text. */
  rest(): string {
    const at = this.#take(this.remaining, "rest");
    return this.#buffer.toString("utf8", at);
  }

  #length(field: string): number {
    const length = this.int(field);
    if (length < -1) {
      throw new ProtocolError(`${field}: negative length ${length}`);
    }
    return length;
  }

  #take(count: number, field: string): number {
    const at = this.#offset;
    if (count > this.#buffer.length - at) {
      throw new ProtocolError(
        `${field}: truncated, ${count} bytes wanted at offset ${at} of ${this.#buffer.length}`,
      );
    }
    this.#offset = at + count;
    return at;
  }

  #refuseNull(field: string): never {
    throw new ProtocolError(`${field}: null where a value is required`);
  }
}
