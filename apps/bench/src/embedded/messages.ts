/** What the server's process reports once it serves. */
export interface Serving {
  readonly port: number;
  /** Loading the module, which an application pays once. */
  readonly loadMs: number;
  /** From the call until connections are accepted. */
  readonly startMs: number;
  readonly footprint: Footprint;
}

/** What the server's process takes, after a full collection. */
export interface Footprint {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly sessions: number;
  readonly znodes: number;
  /** Transactions since the start. */
  readonly transactions: number;
}

/** What a load process is to do, on one connection or many. */
export type Load =
  | { readonly kind: "pairs"; readonly port: number; readonly pairs: number; readonly inFlight: number }
  | { readonly kind: "populate"; readonly port: number; readonly sessions: number; readonly znodes: number };

export interface LoadDone {
  readonly tookMs: number;
}
