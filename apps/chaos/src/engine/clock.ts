import type { Nanos } from "../history/record.js";

/** The largest difference between the time stamps of two processes that read the same clock. */
export const clockNs: Nanos = 5e6;
/** The error text for a worker that reports what it did while its process was stopped. */
export const wentOn =
  "went on while it was stopped: the command must become the worker itself (node worker.js, and not npm or npx)";

/**
 * The clock of a run: nanoseconds since its start by CLOCK_MONOTONIC, which all processes of a machine share. Workers
 * receive the start as `base` and make their own time stamps.
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
