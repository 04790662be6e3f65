import type { Millis } from "@holdfast/core";

/**
 * The requests to a process with a peer in it. Each is one JSON object in a line on its standard input, without objects
 * or arrays inside, because the Java side has no parser. The process answers each with one line: `{"ok": ...}`, or
 * `{"error": "..."}`. Its first line comes without a request: `{"ready": {name: version, ...}}`, or
 * `{"missing": "..."}` if the library is not there. It ends with its input.
 */
export type Request =
  /** Opens this number of clients, with a session or a connection each. */
  | { readonly do: "connect"; readonly server: string; readonly clients: number }
  /**
   * See `WorkloadKind`. Owner `i`, from 0 on, takes lock `i % locks` through client `i % clients`, at least once.
   * Answered with `Samples`.
   */
  | {
      readonly do: "loop";
      readonly name: string;
      readonly owners: number;
      readonly locks: number;
      readonly forMs: Millis;
    }
  /**
   * Owner 0, the holder, acquires. Then `owners` more owners call acquire, each as in `loop`. Answered when all have
   * called.
   */
  | { readonly do: "queue"; readonly name: string; readonly owners: number }
  /**
   * The holder releases, and each owner releases as soon as it is granted. Answered with `Samples` when all have
   * released.
   */
  | { readonly do: "drain" }
  /** Closes all clients. */
  | { readonly do: "close" };

export interface Samples {
  /** Pairs of acquire and release. The pair of a queue's holder is not among them. */
  readonly operations: number;
  readonly tookMs: Millis;
  /** The latency of each pair, in microseconds. Empty if owners wait for each other. */
  readonly latenciesUs: readonly number[];
  /** The grants, oldest first, including that of a queue's holder. Empty if no owner waits for another. */
  readonly grants: readonly Grant[];
}

/**
 * Acquires are numbered from 0 on, in the order of their calls. Times are microseconds since the work began, negative
 * before it: when acquire was done, and when release was called.
 */
export type Grant = readonly [call: number, owner: number, grantedUs: number, releasedUs: number];
