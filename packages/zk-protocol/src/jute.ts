import { ProtocolError } from "./protocol-error.js";

/** Writes and reads one kind of record. */
export interface RecordCodec<T> {
  write(writer: Writer, record: T): void;
  read(reader: Reader): T;
}

/**
 * Reads the fields of one record. Every length is checked against the remaining bytes before memory is allocated for it,
 * so a wrong length costs nothing. Bytes left over at the end are ignored, as servers do.
 *
 * The `field` arguments are only used in the message of a `ProtocolError`.
 */
export class Reader {
  readonly #buffer: Buffer;
  #offset: number;

  constructor(bytes: Uint8Array, offset = 0) {
    this.#buffer = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.#buffer.length - this.#offset;
  }

  int(field: string): number {
    return this.#buffer.readInt32BE(this.#take(4, field));
  }

  long(field: string): bigint {
    const at = this.#take(8, field);
    const high = this.#buffer.readInt32BE(at);
    // A double is exact up to 2^53. One bigint made of it costs less than Node.js's own way, which puts several bigints together.
    if (high >= 0 && high < 0x20_0000)
      return BigInt(high * 0x1_0000_0000 + this.#buffer.readUInt32BE(at + 4));
    return this.#buffer.readBigInt64BE(at);
  }

  /** Every byte except 0 is `true`, as for servers. */
  bool(field: string): boolean {
    return this.#buffer[this.#take(1, field)] !== 0;
  }

  /** A copy, so that the bytes which the caller keeps do not change with the frame, and do not keep the frame in memory. */
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

  /** A string in UTF-8. Invalid bytes become U+FFFD rather than an error; no path may contain that character. */
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

  /** Checks the length of a string, and skips the string. */
  skipString(field: string): void {
    const length = this.#length(field);
    if (length === -1) this.#refuseNull(field);
    this.#take(length, field);
  }

  skip(count: number, field: string): void {
    this.#take(count, field);
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
   * The length of a vector. It may be wrong. Append items as they are read, and never allocate memory by this length:
   * then the end of the bytes stops the loop.
   */
  count(field: string): number {
    return this.countOrNull(field) ?? this.#refuseNull(field);
  }

  countOrNull(field: string): number | null {
    const count = this.#length(field);
    return count === -1 ? null : count;
  }

  /** All remaining bytes, as text. */
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

const firstBytes = 256;

/**
 * Builds one record in ZooKeeper's serialisation (jute): big-endian, with lengths in front, -1 for null.
 *
 * A value that does not fit its field is a mistake of the caller and throws `RangeError`. Node.js's own setters would
 * write NaN as 0 and cut fractions, which would turn "no version" into "version 0".
 */
export class Writer {
  #buffer: Buffer = Buffer.allocUnsafe(firstBytes);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  int(value: number): void {
    if ((value | 0) !== value) {
      throw new RangeError(`${value} does not fit a 32-bit field`);
    }
    const at = this.#extend(4);
    this.#buffer.writeInt32BE(value, at);
  }

  long(value: bigint): void {
    const at = this.#extend(8);
    this.#buffer.writeBigInt64BE(value, at);
  }

  bool(value: boolean): void {
    const at = this.#extend(1);
    this.#buffer[at] = value ? 1 : 0;
  }

  /** A buffer field. Null and empty are different values, and are read back as such. */
  bytes(value: Uint8Array | null): void {
    if (value === null) {
      this.int(-1);
      return;
    }
    this.int(value.length);
    this.raw(value);
  }

  /** Writes bytes without a length in front. */
  raw(value: Uint8Array): void {
    const at = this.#extend(value.length);
    this.#buffer.set(value, at);
  }

  string(value: string | null): void {
    if (value === null) {
      this.int(-1);
      return;
    }
    const length = Buffer.byteLength(value);
    this.int(length);
    const at = this.#extend(length);
    this.#buffer.write(value, at, length, "utf8");
  }

  strings(values: readonly string[]): void {
    this.int(values.length);
    for (const value of values) {
      this.string(value);
    }
  }

  /** Overwrites a number that was written before, `at` bytes from the start. */
  replaceInt(value: number, at: number): void {
    this.#buffer.writeInt32BE(value, at);
  }

  /** Removes everything that was written behind the first `length` bytes. */
  truncate(length: number): void {
    this.#length = length;
  }

  /** The bytes that were written. The writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Makes room for `count` bytes, and returns their offset. */
  #extend(count: number): number {
    const at = this.#length;
    const needed = at + count;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, at);
      this.#buffer = larger;
    }
    this.#length = needed;
    return at;
  }
}
