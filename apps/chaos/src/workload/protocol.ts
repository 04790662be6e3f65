import type { KeySpec, WorkerGroup } from "../engine/scenario.js";
import type { EventRecord, InvokeRecord, OutcomeRecord } from "../history/record.js";
import type { ServerAddresses } from "./addresses.js";
import type { Provides } from "./provides.js";

/** A key as a worker sees it, with its name in the history and its name in the backend, which is new for each scenario. */
export interface WorkerKey extends KeySpec {
  /** Its name in the history. */
  readonly id: string;
  /** Its name in the backend. The nodes or keys that a client makes there contain it. */
  readonly name: string;
}

export interface WorkerSetup {
  /** The worker and its incarnation, `w0#0`: the `p` of its records. */
  readonly p: string;
  /** The start of the run by CLOCK_MONOTONIC in nanoseconds, as decimal text. Time stamps count from it. */
  readonly clockBase: string;
  readonly seed: number;
  readonly group: WorkerGroup;
  readonly keys: readonly WorkerKey[];
  readonly servers: ServerAddresses;
  /** `host:port` of the protected resource, which answers lines of JSON: see `ResourceRequest`. */
  readonly resource: string | null;
}

/**
 * The messages that a worker reads: one JSON object a line on its standard input. docs/worker-protocol.md describes
 * them all.
 * `about` is sent only to workers that are not of this package, in a process that does nothing else. `setup` comes
 * first; the worker answers `ready` once its client is connected. After `stop` it begins no acquire. Its waits go on
 * until they are granted, and it sends `done` when everything is over. `abort` ends the remaining waits.
 */
export type ToWorker =
  | { readonly do: "about" }
  | { readonly do: "setup"; readonly setup: WorkerSetup }
  | { readonly do: "start" }
  | { readonly do: "stop" }
  | { readonly do: "abort" };

/** A record before its arrival, at which the recorder gives it its `i`. */
export type Unnumbered<R> = R extends { readonly i: number } ? Omit<R, "i"> : never;

export type WorkerWord =
  | { readonly say: "about"; readonly provides: Provides }
  | { readonly say: "ready"; readonly versions?: Readonly<Record<string, string>> }
  | { readonly say: "done" }
  /** The worker cannot do what it was asked. The scenario is broken. */
  | { readonly say: "failed"; readonly error: string };

/** The messages of a worker: one JSON object a line on its standard output. Anything else there is an error. */
export type FromWorker = WorkerWord | Unnumbered<InvokeRecord | OutcomeRecord | EventRecord>;
