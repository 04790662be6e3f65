import type { Overview } from "../contract/api.js";
import { clusterRowOf } from "../core/cluster-row.js";
import type { Observatory } from "../core/observatory.js";
import { rowOf } from "../core/rows.js";
import type { AskedRow } from "./asked-row.js";

/** One event of the stream, as it is sent. */
export function eventText(event: string, json: string): string {
  return `event: ${event}\ndata: ${json}\n\n`;
}

/**
 * The events that are the same for many clients in one flush. Each is made when the first client needs it. They are
 * bytes, so that hundreds of viewers of one page share one copy, even viewers that do not read theirs.
 */
export class Flush {
  readonly nowMs: number;
  readonly overviewDue: boolean;
  readonly #observatory: Observatory;
  readonly #figures: Overview | null;
  readonly #rows: Map<AskedRow, string | null> = new Map();
  readonly #sets: Map<string, { readonly event: Buffer | null; readonly gone: readonly string[] }> =
    new Map();
  #overview: Buffer | undefined;
  #findings: Buffer | undefined;
  #clusters: Buffer | undefined;

  /** `figures` is `null` if no client has asked for them. */
  constructor(observatory: Observatory, nowMs: number, overviewDue: boolean, figures: Overview | null) {
    this.#observatory = observatory;
    this.nowMs = nowMs;
    this.overviewDue = overviewDue;
    this.#figures = figures;
  }

  /** The rows as they are now, and the ids of those that are gone. */
  rows(asked: ReadonlySet<AskedRow>): { readonly event: Buffer | null; readonly gone: readonly string[] } {
    const name = Array.from(asked, ({ number }) => number).join();
    const known = this.#sets.get(name);
    if (known !== undefined) return known;
    const rows: string[] = [];
    const gone: string[] = [];
    for (const one of asked) {
      const row = this.#row(one);
      if (row === null) gone.push(one.id);
      else rows.push(row);
    }
    const event = rows.length === 0 ? null : Buffer.from(eventText("locks", `[${rows.join()}]`));
    const made = { event, gone };
    this.#sets.set(name, made);
    return made;
  }

  get overview(): Buffer | null {
    if (this.#figures === null) return null;
    this.#overview ??= Buffer.from(eventText("overview", JSON.stringify(this.#figures)));
    return this.#overview;
  }

  get findings(): Buffer {
    this.#findings ??= Buffer.from(eventText("findings", JSON.stringify(this.#observatory.findings.rows())));
    return this.#findings;
  }

  get clusters(): Buffer {
    const rows = (): string => JSON.stringify(this.#observatory.clusters.map(clusterRowOf));
    this.#clusters ??= Buffer.from(eventText("clusters", rows()));
    return this.#clusters;
  }

  /** The row as JSON; `null` if the lock is gone. */
  #row(asked: AskedRow): string | null {
    const known = this.#rows.get(asked);
    if (known !== undefined) return known;
    const { cluster, key } = asked;
    const lock = cluster.collector.get(key);
    const json = lock === undefined ? null : JSON.stringify(rowOf(cluster.name, lock));
    this.#rows.set(asked, json);
    return json;
  }
}
