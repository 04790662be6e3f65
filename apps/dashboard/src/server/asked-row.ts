import type { NamedCollector } from "../core/cluster-row.js";

/** A row that at least one viewer has on screen. */
export interface AskedRow {
  /** A short number that distinguishes rows within this hub. */
  readonly number: number;
  readonly id: string;
  readonly cluster: NamedCollector;
  readonly key: string;
  readonly viewers: Set<RowViewer>;
  /** How often it has changed since the last flush. */
  changes: number;
  /**
   * True if the lock was there once, so that the backend is asked for it repeatedly. False for a name that may be made
   * up.
   */
  attended: boolean;
}

/** A viewer that is notified when a row has changed. */
export interface RowViewer {
  /**
   * `times`: how often the row has changed since the last flush. Returns how many of these changes the viewer will not
   * be sent one by one.
   */
  changed(row: AskedRow, times: number): number;
}

/** A stream as its hub knows it. `F` is what all streams share in one flush. */
export interface StreamViewer<F> extends RowViewer {
  readonly rows: Iterable<AskedRow>;
  wantsOverview(due: boolean): boolean;
  asked(row: AskedRow): void;
  stale(what: "clusters" | "findings"): void;
  flush(flush: F, beatMs: number): void;
  close(): void;
}
