import type { Millis } from "@holdfast/core";

/** What the dashboard's process reports of itself, since it was asked last. */
export interface Inside {
  /** Resident now, and the most that it was. */
  readonly rssBytes: number;
  readonly highestBytes: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  /** The most processor time of its main thread between two turns of its event loop. */
  readonly longestWorkMs: Millis;
  /** The longest between two turns by the wall clock, what other processes took included. */
  readonly longestWallMs: Millis;
  /** The delay that `monitorEventLoopDelay` gives. */
  readonly delayMs: Millis;
  /** How many turns took 20 ms of processor time or more. */
  readonly over20: number;
  /** Processor time of all its threads, ms, and the time in which it was used. */
  readonly cpuMs: Millis;
  readonly forMs: Millis;
  /** The longest that the garbage collector stopped everything, by the wall clock. */
  readonly longestGcMs: Millis;
}

/** What the process of the streams' readers reports. */
export interface ReadersReport {
  readonly received: number;
  /** Chunks that the reader with the fewest got, of those that read. */
  readonly least: number;
}
