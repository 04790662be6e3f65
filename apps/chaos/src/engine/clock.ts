import type { Nanos } from "../history/record.js";

/**
 * The clock of a run: nanoseconds since its start by CLOCK_MONOTONIC, which all processes of a machine share. Workers get
 * the start as `base` and stamp by themselves.
 */
export class RunClock {
  /** `process.hrtime` at the start, as decimal text. */
  readonly base: string;
  readonly #base: bigint;

  constructor(base: string = process.hrtime.bigint().toString()) {
    this.base = base;
    this.#base = BigInt(base);
  }

  now(): Nanos {
    return Number(process.hrtime.bigint() - this.#base);
  }
}
