import type { Millis } from "@holdfast/core";

/** What the dashboard's process reports of itself, for the time since the last question. */
export interface Inside {
  /** The resident memory now; `highestBytes` is the most that it was. */
  readonly rssBytes: number;
  readonly highestBytes: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  /** The most processor time that its main thread used between two turns of its event loop. */
  readonly longestWorkMs: Millis;
  /** The longest time between two turns by the wall clock. It includes what other processes took. */
  readonly longestWallMs: Millis;
  /** The delay that `monitorEventLoopDelay` reports. */
  readonly delayMs: Millis;
  /** How many turns took 20 ms of processor time or more. */
  readonly over20: number;
  /** Processor time of all its threads in ms; `forMs` is the time in which it was used. */
  readonly cpuMs: Millis;
  readonly forMs: Millis;
  /** The longest stop of everything by the garbage collector, by the wall clock. */
  readonly longestGcMs: Millis;
}

/** What the process of the readers of streams reports. */
export interface ReadersReport {
  readonly received: number;
  /** How many chunks came to the reader with the fewest, among those that read. */
  readonly least: number;
}
