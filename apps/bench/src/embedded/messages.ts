/** What the server's process reports once it serves. */
export interface Serving {
  readonly port: number;
  /** The time for loading the module, which an application pays once. */
  readonly loadMs: number;
  /** The time from the call until connections are accepted. */
  readonly startMs: number;
  readonly footprint: Footprint;
}

/** The memory of the server's process, after a full garbage collection. */
export interface Footprint {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly sessions: number;
  readonly znodes: number;
  /** Transactions since the start. */
  readonly transactions: number;
}

/** What a load process has to do, on one connection or on many. */
export type Load =
  | { readonly kind: "pairs"; readonly port: number; readonly pairs: number; readonly inFlight: number }
  | { readonly kind: "populate"; readonly port: number; readonly sessions: number; readonly znodes: number };

export interface LoadDone {
  readonly tookMs: number;
}
