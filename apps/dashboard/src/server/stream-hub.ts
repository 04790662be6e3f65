import type { LockCollector } from "@holdfast/collectors";
import { Warnings } from "@holdfast/collectors/internal";
import { beatMs } from "../contract/stream.js";
import type { NamedCollector } from "../core/cluster-row.js";
import type { Observatory } from "../core/observatory.js";
import { nextTurn } from "../core/turns.js";
import type { AskedRow, StreamViewer } from "./asked-row.js";
import { Flush } from "./flush.js";

/** Four times a second, so that a burst of a thousand changes of a row is sent as one. */
const flushMs = 250;
/** The figures of the overview need a walk over all locks, so they are sent less often. */
const overviewMs = 1_000;
/** After so long without a break, other requests get a turn. */
const sliceMs = 10;

/** All streams of one dashboard: which client shows which rows, and what has to be sent to which client. */
export class StreamHub {
  readonly observatory: Observatory;
  /** Names this process, because counts of another process mean nothing here. */
  readonly epoch: string = Date.now().toString(36);
  readonly #clients: Set<StreamViewer<Flush>> = new Set();
  readonly #asked: Map<string, Map<string, AskedRow>> = new Map();
  /** Rows on some client's screen that have changed since the last flush. */
  readonly #changed: Set<AskedRow> = new Set();
  readonly #attention: Map<string, ReturnType<LockCollector["attend"]>> = new Map();
  readonly #off: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #warnings = new Warnings();
  #changes = 0;
  #coalesced = 0;
  #disconnectedSlow = 0;
  #overviewMs = 0;
  #lastNumber = 0;
  #flushing = false;
  #closed = false;

  constructor(observatory: Observatory) {
    this.observatory = observatory;
    this.#off = observatory.onChange((change) => {
      if (change.type === "lock") this.#lockChanged(change.cluster, change.key);
      else for (const client of this.#clients) client.stale(change.type);
    });
    // A collector may be the host's own, and throw where ours do not.
    this.#timer = setInterval(() => this.#warnings.watch("the streams got nothing", this.#flush()), flushMs);
    this.#timer.unref();
  }

  /** Running totals, and how many clients are connected. */
  get totals(): { clients: number; coalesced: number; disconnectedSlow: number } {
    return {
      clients: this.#clients.size,
      coalesced: this.#coalesced,
      disconnectedSlow: this.#disconnectedSlow,
    };
  }

  /** How many changes there have been since the start. */
  get changes(): number {
    return this.#changes;
  }

  add(client: StreamViewer<Flush>, ids: readonly string[]): void {
    if (this.#closed) {
      client.close();
      return;
    }
    this.#clients.add(client);
    const touched = new Set<NamedCollector>();
    for (const id of ids) {
      const asked = this.#ask(id);
      if (asked === null) continue;
      asked.viewers.add(client);
      client.asked(asked);
      touched.add(asked.cluster);
    }
    for (const cluster of touched) this.#attend(cluster);
  }

  remove(client: StreamViewer<Flush>, slow: boolean): void {
    if (!this.#clients.delete(client)) return;
    if (slow) this.#disconnectedSlow += 1;
    const touched = new Set<NamedCollector>();
    for (const asked of client.rows) {
      asked.viewers.delete(client);
      if (asked.viewers.size > 0) continue;
      this.#asked.get(asked.cluster.name)?.delete(asked.key);
      touched.add(asked.cluster);
    }
    for (const cluster of touched) this.#attend(cluster);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#off();
    for (const client of this.#clients) client.close();
    for (const attention of this.#attention.values()) attention.end();
    this.#attention.clear();
  }

  #lockChanged(cluster: string, key: string): void {
    this.#changes += 1;
    const asked = this.#asked.get(cluster)?.get(key);
    if (asked === undefined) return;
    if (!asked.attended && asked.cluster.collector.get(key) !== undefined) {
      asked.attended = true;
      this.#attend(asked.cluster);
    }
    // The change is only noted, so that a burst costs the same however many clients show the row.
    asked.changes += 1;
    this.#changed.add(asked);
  }

  #ask(id: string): AskedRow | null {
    let located: ReturnType<Observatory["locate"]>;
    try {
      located = this.observatory.locate(id);
    } catch {
      // The id comes from an older configuration, so there is nothing to send for it.
      return null;
    }
    const { cluster, key } = located;
    const rows = this.#asked.get(cluster.name) ?? new Map<string, AskedRow>();
    this.#asked.set(cluster.name, rows);
    const known = rows.get(key);
    if (known !== undefined) return known;
    const number = ++this.#lastNumber;
    const attended = cluster.collector.get(key) !== undefined;
    const asked = { number, id, cluster, key, viewers: new Set<StreamViewer<Flush>>(), changes: 0, attended };
    rows.set(key, asked);
    return asked;
  }

  #attend({ name, collector }: NamedCollector): void {
    const rows = [...(this.#asked.get(name)?.values() ?? [])];
    const keys = rows.filter(({ attended }) => attended).map(({ key }) => key);
    const attention = this.#attention.get(name);
    if (attention === undefined) {
      if (keys.length > 0) this.#attention.set(name, collector.attend(keys));
    } else if (keys.length > 0) attention.update(keys);
    else {
      attention.end();
      this.#attention.delete(name);
    }
  }

  /** Passes each changed row to all clients that show it. */
  #hand(): void {
    for (const asked of this.#changed) {
      for (const client of asked.viewers) this.#coalesced += client.changed(asked, asked.changes);
      asked.changes = 0;
    }
    this.#changed.clear();
  }

  #wantOverview(due: boolean): boolean {
    for (const client of this.#clients) if (client.wantsOverview(due)) return true;
    return false;
  }

  async #flush(): Promise<void> {
    if (this.#flushing) return;
    this.#flushing = true;
    try {
      const nowMs = performance.now();
      const overviewDue = nowMs - this.#overviewMs >= overviewMs;
      if (overviewDue) this.#overviewMs = nowMs;
      // This comes before any change is passed on, because counting all locks takes several turns.
      const figures = this.#wantOverview(overviewDue) ? await this.observatory.overview() : null;
      // The observatory may look for findings at this moment, too. The two run one after the other.
      await nextTurn();
      this.#hand();
      const flush = new Flush(this.observatory, nowMs, overviewDue, figures);
      let sinceMs = performance.now();
      for (const client of [...this.#clients]) {
        client.flush(flush, beatMs);
        if (performance.now() - sinceMs < sliceMs) continue;
        await nextTurn();
        sinceMs = performance.now();
      }
    } finally {
      this.#flushing = false;
    }
  }
}
