import type { Millis } from "@holdfast/core";

/**
 * What a process with a peer in it is asked, one JSON object a line on its standard input, without objects or arrays inside:
 * the Java side has no parser. It answers each with one line: `{"ok": ...}`, or `{"error": "..."}`. Its first line, unasked, is
 * `{"ready": {name: version, ...}}`, or `{"missing": "..."}` when the library is not there. It ends with its input.
 */
export type Request =
  /** Opens as many clients, with a session or a connection each. */
  | { readonly do: "connect"; readonly server: string; readonly clients: number }
  /** See `WorkloadKind`. Owner `i` takes lock `i % locks` through client `i % clients`. Answered with `Samples`. */
  | {
      readonly do: "loop";
      readonly name: string;
      readonly owners: number;
      readonly locks: number;
      readonly forMs: Millis;
    }
  /** The first client acquires; then owner `i` calls acquire through client `(i + 1) % clients`. Answered when all have called. */
  | { readonly do: "queue"; readonly name: string; readonly owners: number }
  /** The holder releases, and so does each owner as soon as it is granted. Answered with `Samples` when all are through. */
  | { readonly do: "drain" }
  /** Closes all clients. */
  | { readonly do: "close" };

export interface Samples {
  /** Pairs of acquire and release. */
  readonly operations: number;
  readonly tookMs: Millis;
  /** Microseconds, whole ones. */
  readonly latenciesUs: readonly number[];
  /**
   * Which acquires were granted, oldest grant first: acquires are numbered in the order of their calls. Empty where no owner
   * waits for another.
   */
  readonly grants: readonly number[];
}
