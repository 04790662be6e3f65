const firstBytes = 256;

/**
 * Builds one record in ZooKeeper's serialisation (jute): big-endian, length-prefixed, -1 for null.
 *
 * A value that does not fit its field is a caller's mistake and throws `RangeError`: Node's own
 * setters would write NaN as 0 and cut fractions, which turns "no version" into "version 0".
 */
export class Writer {
  #buffer: Buffer = Buffer.allocUnsafe(firstBytes);
  #length = 0;

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

  /** A buffer field. Null and empty are different values and come back as such. */
  bytes(value: Uint8Array | null): void {
    if (value === null) {
      this.int(-1);
      return;
    }
    this.int(value.length);
    this.raw(value);
  }

  /** Bytes without a length in front. */
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

  /** What was written. The writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Makes room for `count` bytes and returns where they go. */
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
