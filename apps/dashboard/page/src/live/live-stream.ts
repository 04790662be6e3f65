import type { ClusterRow, FindingRow, LockRow, Overview } from "../../../src/contract/api.js";
import { silenceMs } from "../../../src/contract/stream.js";

/** The part of `EventSource` that is needed. Tests replace it. */
export interface Source {
  addEventListener(type: string, listener: (event: { readonly data: string }) => void): void;
  onerror: ((event: never) => void) | null;
  close(): void;
}

export interface Timers {
  set(callback: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

export interface StreamListeners {
  /** The stream is connected, perhaps again. What was missed meanwhile has to be asked for. */
  opened(): void;
  /** A message has come, with the server's time if it has one. */
  heard(nowMs: number | null): void;
  stateChanged(state: StreamState): void;
  locks(rows: readonly LockRow[]): void;
  gone(ids: readonly string[]): void;
  changes(count: number): void;
  overview(overview: Overview): void;
  findings(rows: readonly FindingRow[]): void;
  clusters(rows: readonly ClusterRow[]): void;
  /** Called every 10 s while there is no stream. */
  poll(): void;
}

/** `polling`: three tries failed, so the page asks every 10 s. It also goes on trying to connect. */
export type StreamState = "connecting" | "live" | "reconnecting" | "polling" | "paused";

export interface Interest {
  /** The ids of lock rows, the most important first. */
  readonly rows: readonly string[];
  readonly overview: boolean;
  readonly findings: boolean;
}

/** Proxies refuse request lines of more than 8 KB. */
const longestRows = 6500;
const settleMs = 150;
const pollMs = 10_000;
const failuresBeforePolling = 3;
const retriesMs = [1000, 2000, 4000, 10_000];

/**
 * The query of the stream's URL. Rows that do not fit are left out, because the list asks for them anew now and then.
 */
export function streamQuery(interest: Interest): string {
  const ids: string[] = [];
  let length = 0;
  for (const id of interest.rows) {
    length += encodeURIComponent(id).length + 3;
    if (length > longestRows) break;
    ids.push(id);
  }
  const query = new URLSearchParams();
  if (ids.length > 0) query.set("rows", ids.join(","));
  if (interest.overview) query.set("overview", "1");
  if (interest.findings) query.set("findings", "1");
  return query.toString();
}

/**
 * The one stream of this tab. It asks for what the pages on screen need, opens anew when that changes, and goes on
 * trying when it breaks. It does not use the retry of `EventSource`, which gives up for good on an error status,
 * without notice.
 */
export class LiveStream {
  readonly #open: (query: string) => Source;
  readonly #on: StreamListeners;
  readonly #timers: Timers;
  readonly #interests = new Map<object, Interest>();
  #source: Source | null = null;
  #query: string | null = null;
  #state: StreamState = "connecting";
  #failures = 0;
  #settle: unknown = null;
  #retry: unknown = null;
  #silence: unknown = null;
  #poll: unknown = null;

  constructor(open: (query: string) => Source, on: StreamListeners, timers: Timers) {
    this.#open = open;
    this.#on = on;
    this.#timers = timers;
  }

  get state(): StreamState {
    return this.#state;
  }

  start(): void {
    this.#settleSoon();
  }

  /** From now on `who` wants this; `null` means nothing more. */
  want(who: object, interest: Interest | null): void {
    if (interest === null) this.#interests.delete(who);
    else this.#interests.set(who, interest);
    this.#settleSoon();
  }

  pause(): void {
    if (this.#state === "paused") return;
    this.#disconnect();
    this.#stop("silence");
    this.#stop("poll");
    this.#stop("retry");
    this.#become("paused");
  }

  resume(): void {
    if (this.#state !== "paused") return;
    this.#failures = 0;
    this.#become("connecting");
    this.#connect();
  }

  close(): void {
    this.pause();
    this.#stop("settle");
  }

  #wanted(): string {
    const rows = new Set<string>();
    let overview = false;
    let findings = false;
    for (const interest of this.#interests.values()) {
      for (const id of interest.rows) rows.add(id);
      overview ||= interest.overview;
      findings ||= interest.findings;
    }
    return streamQuery({ rows: [...rows], overview, findings });
  }

  // When one page replaces another, the interest changes twice in quick succession, so this waits a moment.
  #settleSoon(): void {
    if (this.#settle !== null) return;
    this.#settle = this.#timers.set(() => {
      this.#settle = null;
      if (this.#state === "paused" || this.#retry !== null || this.#wanted() === this.#query) return;
      this.#connect();
    }, settleMs);
  }

  #connect(): void {
    this.#disconnect();
    this.#stop("retry");
    const query = this.#wanted();
    this.#query = query;
    const source = this.#open(query);
    this.#source = source;
    let greeted = false;
    // A connection that replaces another gets only the time that the other had left: nothing has come to the page since
    // then.
    if (this.#silence === null) this.#watchSilence();
    const take = <T>(type: string, listener: (data: T) => void): void => {
      source.addEventListener(type, ({ data }) => {
        if (source !== this.#source) return;
        listener(JSON.parse(data) as T);
        this.#watchSilence();
      });
    };
    take<{ nowMs: number }>("hello", ({ nowMs }) => {
      if (!greeted) this.#opened();
      greeted = true;
      this.#on.heard(nowMs);
    });
    const plainly = <T>(type: string, listener: (data: T) => void): void => {
      take<T>(type, (data) => {
        this.#on.heard(null);
        listener(data);
      });
    };
    plainly<LockRow[]>("locks", (rows) => this.#on.locks(rows));
    plainly<string[]>("gone", (ids) => this.#on.gone(ids));
    plainly<{ count: number }>("changes", ({ count }) => this.#on.changes(count));
    plainly<Overview>("overview", (overview) => this.#on.overview(overview));
    plainly<FindingRow[]>("findings", (rows) => this.#on.findings(rows));
    plainly<ClusterRow[]>("clusters", (rows) => this.#on.clusters(rows));
    source.onerror = () => {
      if (source === this.#source) this.#failed();
    };
  }

  #opened(): void {
    this.#failures = 0;
    this.#stop("poll");
    this.#become("live");
    this.#on.opened();
  }

  #failed(): void {
    this.#disconnect();
    this.#stop("silence");
    this.#query = null;
    this.#failures += 1;
    const polling = this.#failures >= failuresBeforePolling;
    this.#become(polling ? "polling" : "reconnecting");
    if (polling && this.#poll === null) this.#pollSoon();
    const wait = retriesMs[Math.min(this.#failures, retriesMs.length) - 1] ?? pollMs;
    this.#stop("retry");
    this.#retry = this.#timers.set(() => {
      this.#retry = null;
      this.#connect();
    }, wait);
  }

  #pollSoon(): void {
    this.#poll = this.#timers.set(() => {
      this.#pollSoon();
      this.#on.poll();
    }, pollMs);
  }

  // The server sends regularly. Without this check, a connection whose other end has vanished or hangs would stay open
  // for minutes.
  #watchSilence(): void {
    this.#stop("silence");
    this.#silence = this.#timers.set(() => {
      this.#silence = null;
      this.#failed();
    }, silenceMs);
  }

  #disconnect(): void {
    const source = this.#source;
    this.#source = null;
    this.#query = null;
    if (source === null) return;
    source.onerror = null;
    source.close();
  }

  #stop(which: "poll" | "retry" | "silence" | "settle"): void {
    const timer = { poll: this.#poll, retry: this.#retry, silence: this.#silence, settle: this.#settle }[
      which
    ];
    if (timer === null) return;
    this.#timers.clear(timer);
    if (which === "poll") this.#poll = null;
    else if (which === "retry") this.#retry = null;
    else if (which === "silence") this.#silence = null;
    else this.#settle = null;
  }

  #become(state: StreamState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#on.stateChanged(state);
  }
}
