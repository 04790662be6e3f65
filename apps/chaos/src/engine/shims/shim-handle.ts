import { closeSync, openSync, readSync, writeSync } from "node:fs";

const bytes = 32;
const nanosPerMs = 1_000_000n;
/** Times in nanoseconds have to fit in 64 bits, signed. */
const mostMs = 100 * 365 * 86_400_000;

/** What the shim in a process has done so far: the evidence of a fault. */
export interface ShimCounts {
  /** How often the process has read a turned wall clock. */
  readonly wallReads: number;
  /** How many of its flushes were delayed. */
  readonly flushes: number;
}

/**
 * Controls the clock and the disk of the processes that were started with its variables. Changes take effect at once.
 */
export class ShimHandle {
  /** Variables for the environment of a process. */
  readonly env: Readonly<Record<string, string>>;
  readonly #file: number;

  constructor(library: string, path: string) {
    this.env = { LD_PRELOAD: library, HOLDFAST_SHIM: path };
    this.#file = openSync(path, "w+");
    writeSync(this.#file, Buffer.alloc(bytes), 0, bytes, 0);
  }

  /** Words in front of a command, for `ServerPlace.prefix`. */
  get prefix(): readonly string[] {
    return ["env", ...Object.entries(this.env).map(([name, value]) => `${name}=${value}`)];
  }

  /** Sets the wall clock to this distance from the true time, forwards or back (negative). 0 heals. */
  setWallClock(byMs: number): void {
    this.#write(0, byMs);
  }

  /** Makes each fsync and fdatasync take at least this long. 0 heals, also for calls under way. */
  setFsyncDelay(ms: number): void {
    if (ms < 0) throw new RangeError(`a delay of ${ms} ms`);
    this.#write(8, ms);
  }

  counts(): ShimCounts {
    const buffer = Buffer.alloc(bytes);
    readSync(this.#file, buffer, 0, bytes, 0);
    return { wallReads: number64(buffer, 16), flushes: number64(buffer, 24) };
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(at: number, ms: number): void {
    if (!(Math.abs(ms) <= mostMs)) throw new RangeError(`${ms} ms are too far`);
    // One write of eight bytes, so that no reader sees half of it.
    const word = Buffer.alloc(8);
    const nanos = BigInt(Math.round(ms)) * nanosPerMs;
    if (littleEndian) word.writeBigInt64LE(nanos);
    else word.writeBigInt64BE(nanos);
    writeSync(this.#file, word, 0, 8, at);
  }
}

const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

function number64(buffer: Buffer, at: number): number {
  return Number(littleEndian ? buffer.readBigInt64LE(at) : buffer.readBigInt64BE(at));
}
