import type { ServerResponse } from "node:http";
import type { AskedRow, StreamViewer } from "./asked-row.js";
import { eventText, type Flush } from "./flush.js";
import type { StreamHub } from "./stream-hub.js";

/** A client that has read nothing for so long is gone or stuck. It comes back and gets everything anew. */
export const undrainedMs = 30_000;
/** How long data that was written before the end of a stream may still take to arrive. */
export const lastWordsMs = 2_000;

export interface StreamWishes {
  readonly overview: boolean;
  readonly findings: boolean;
  /** The `Last-Event-ID` of a client that was connected before. */
  readonly lastEventId: string | undefined;
}

/**
 * The stream of server-sent events of one viewer. It never holds more than names of rows, and at most those that were
 * asked for. What has changed is read only when it can be sent, and nothing is written before the last write has
 * drained.
 */
export class StreamClient implements StreamViewer<Flush> {
  readonly #hub: StreamHub;
  readonly #response: ServerResponse;
  readonly #wishes: StreamWishes;
  readonly #undrainedMs: number;
  readonly #rows: Set<AskedRow> = new Set();
  readonly #dirty: Set<AskedRow> = new Set();
  #findingsStale = true;
  #clustersStale = true;
  #overviewSent = false;
  #toldChanges: number;
  #ownChanges = 0;
  /** On the monotonic clock; `undefined` if the last write has drained. */
  #stuckSinceMs: number | undefined;
  #beatMs = 0;
  #ended = false;

  constructor(hub: StreamHub, response: ServerResponse, wishes: StreamWishes, limitMs: number = undrainedMs) {
    this.#hub = hub;
    this.#response = response;
    this.#wishes = wishes;
    this.#undrainedMs = limitMs;
    this.#toldChanges = changesBefore(hub, wishes.lastEventId);
    response.on("drain", () => {
      this.#stuckSinceMs = undefined;
    });
    response.on("close", () => this.#end(false));
    response.on("error", () => this.#end(false));
  }

  get rows(): Iterable<AskedRow> {
    return this.#rows;
  }

  /** `due`: whether it is time to send all clients the next overview. */
  wantsOverview(due: boolean): boolean {
    return this.#wishes.overview && (due || !this.#overviewSent);
  }

  asked(row: AskedRow): void {
    this.#rows.add(row);
    this.#dirty.add(row);
  }

  /** Notes changes of a row. Returns how many of them the client will never see, because later ones replace them. */
  changed(row: AskedRow, times: number): number {
    this.#ownChanges += times;
    const waiting = this.#dirty.has(row);
    this.#dirty.add(row);
    return waiting ? times : times - 1;
  }

  stale(what: "clusters" | "findings"): void {
    if (what === "clusters") this.#clustersStale = true;
    else this.#findingsStale = true;
  }

  flush(flush: Flush, beatMs: number): void {
    if (this.#ended) return;
    if (this.#stuckSinceMs !== undefined) {
      if (flush.nowMs - this.#stuckSinceMs > this.#undrainedMs) {
        this.#end(true);
        this.#response.destroy();
      }
      return;
    }
    const events = this.#due(flush, beatMs);
    if (events.length === 0) return;
    const response = this.#response;
    response.cork();
    for (const event of events) response.write(event);
    response.uncork();
    if (response.writableNeedDrain) this.#stuckSinceMs = performance.now();
  }

  /**
   * Ends the stream. What was written before may still be on its way to a client that reads it; a client that takes nothing
   * would keep the connection, and the server's end, for as long as TCP allows.
   */
  close(): void {
    this.#end(false);
    this.#response.end();
    setTimeout(() => this.#response.destroy(), lastWordsMs).unref();
  }

  #due(flush: Flush, beatMs: number): (string | Buffer)[] {
    const events: (string | Buffer)[] = [];
    if (this.#beatMs === 0 || flush.nowMs - this.#beatMs >= beatMs) {
      this.#beatMs = flush.nowMs;
      events.push(eventText("hello", `{"nowMs":${this.#hub.observatory.now()}}`));
    }
    if (this.#dirty.size > 0) {
      const { event, gone } = flush.rows(this.#dirty);
      this.#dirty.clear();
      if (event !== null) events.push(event);
      if (gone.length > 0) events.push(eventText("gone", JSON.stringify(gone)));
    }
    const others = this.#hub.changes - this.#toldChanges - this.#ownChanges;
    if (others > 0) events.push(eventText("changes", `{"count":${others}}`));
    this.#toldChanges = this.#hub.changes;
    this.#ownChanges = 0;
    if (this.#clustersStale) events.push(flush.clusters);
    this.#clustersStale = false;
    if (this.#wishes.findings && this.#findingsStale) events.push(flush.findings);
    this.#findingsStale = false;
    // A client that came while all locks were counted gets the overview with the next flush.
    const overview = this.wantsOverview(flush.overviewDue) ? flush.overview : null;
    if (overview !== null) {
      this.#overviewSent = true;
      events.push(overview);
    }
    // The id is a count of changes. After a break the client sends it back, and the answer says how many it missed.
    if (events.length > 0) events.push(`id: ${this.#hub.epoch}.${this.#toldChanges}\n\n`);
    return events;
  }

  #end(slow: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#hub.remove(this, slow);
    this.#dirty.clear();
    this.#rows.clear();
  }
}

/** The count of changes that a returning client has seen. */
function changesBefore(hub: StreamHub, lastEventId: string | undefined): number {
  const [, epoch, count] = /^([0-9a-z]+)\.(\d{1,15})$/.exec(lastEventId ?? "") ?? [];
  if (epoch === undefined || count === undefined) return hub.changes;
  // The id comes from another process, so everything may be different.
  if (epoch !== hub.epoch)
    return (
      hub.changes -
      Math.max(
        1,
        hub.observatory.clusters.reduce((sum, { collector }) => sum + collector.size, 0),
      )
    );
  return Math.min(Number(count), hub.changes);
}
