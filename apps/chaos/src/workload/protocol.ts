import type { KeySpec, WorkerGroup } from "../engine/scenario.js";
import type { EventRecord, InvokeRecord, OutcomeRecord } from "../history/record.js";
import type { ServerAddresses } from "./addresses.js";
import type { Provides } from "./provides.js";

/** A key as a worker sees it: its name in the history, and the one in the backend, which is fresh for each scenario. */
export interface WorkerKey extends KeySpec {
  /** Its name in the history. */
  readonly id: string;
  /** Its name in the backend: what a client makes there has it in its name. */
  readonly name: string;
}

export interface WorkerSetup {
  /** Worker and incarnation, `w0#0`: the `p` of its records. */
  readonly p: string;
  /** Start of the run by CLOCK_MONOTONIC in nanoseconds, as decimal text: stamps count from there. */
  readonly clockBase: string;
  readonly seed: number;
  readonly group: WorkerGroup;
  readonly keys: readonly WorkerKey[];
  readonly servers: ServerAddresses;
  /** `host:port` of the protected resource, which answers lines of JSON: see `ResourceRequest`. */
  readonly resource: string | null;
}

/**
 * What a worker reads: one JSON object a line on its standard input; docs/worker-protocol.md says it all. `about` is asked of
 * workers that are not of this package, in a process that does nothing else. `setup` comes first and is answered by `ready` once the
 * client is connected. After `stop` no acquire is begun; waits go on until they are granted, and `done` is said when all
 * is over. `abort` ends waits that are left.
 */
export type ToWorker =
  | { readonly do: "about" }
  | { readonly do: "setup"; readonly setup: WorkerSetup }
  | { readonly do: "start" }
  | { readonly do: "stop" }
  | { readonly do: "abort" };

/** A record before it has arrived: the recorder gives it its `i`. */
export type Unnumbered<R> = R extends { readonly i: number } ? Omit<R, "i"> : never;

export type WorkerWord =
  | { readonly say: "about"; readonly provides: Provides }
  | { readonly say: "ready"; readonly versions?: Readonly<Record<string, string>> }
  | { readonly say: "done" }
  /** The worker cannot do what it was asked; the scenario is broken. */
  | { readonly say: "failed"; readonly error: string };

/** What comes from a worker: one JSON object a line on its standard output. Anything else there is an error. */
export type FromWorker = WorkerWord | Unnumbered<InvokeRecord | OutcomeRecord | EventRecord>;
