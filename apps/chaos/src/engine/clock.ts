import type { Nanos } from "../history/record.js";

/** Stamps of two processes are this much off at most where both read the same clock. */
export const clockNs: Nanos = 5e6;
/** What is wrong with a worker that reports what it did while its process was stopped. */
export const wentOn =
  "went on while it was stopped: the command must become the worker itself (node worker.js, and not npm or npx)";

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
