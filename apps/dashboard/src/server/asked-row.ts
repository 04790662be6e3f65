import type { NamedCollector } from "../core/cluster-row.js";

/** A row that at least one viewer has on screen. */
export interface AskedRow {
  /** Short, for telling rows apart within this hub. */
  readonly number: number;
  readonly id: string;
  readonly cluster: NamedCollector;
  readonly key: string;
  readonly viewers: Set<RowViewer>;
  /** How often it has changed since the last flush. */
  changes: number;
  /** It was there once, so the backend is asked for it again and again. For a name that was made up it is not. */
  attended: boolean;
}

/** What a row calls when it has changed. */
export interface RowViewer {
  /** `times`: how often since the last flush. The result: how many of these changes the viewer has not been sent one by one. */
  changed(row: AskedRow, times: number): number;
}

/** A stream as its hub knows it. `F`: what all streams share in one flush. */
export interface StreamViewer<F> extends RowViewer {
  readonly rows: Iterable<AskedRow>;
  wantsOverview(due: boolean): boolean;
  asked(row: AskedRow): void;
  stale(what: "clusters" | "findings"): void;
  flush(flush: F, beatMs: number): void;
  close(): void;
}
