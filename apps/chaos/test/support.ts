import type { HistoryRecord, MetaRecord, WorkerRecord } from "../src/history/record.js";

type KeyMeta = MetaRecord["keys"][string];

/** A history that the test writes by hand. Times are in milliseconds. */
export class Script {
  readonly records: HistoryRecord[] = [];
  #op = 0;

  constructor(keys: Readonly<Record<string, Partial<KeyMeta>>>, scenario = "hand") {
    const full: Record<string, KeyMeta> = {};
    for (const [key, meta] of Object.entries(keys)) {
      full[key] = { kind: "mutex", backend: "zookeeper", leaseMs: 1_000, ...meta };
    }
    const run = `run-${scenario}`;
    this.#add({ type: "meta", v: 1, run, seed: 1, scenario, keys: full, versions: {}, capabilities: [] }, 0);
  }

  /** A grant from `asked` to `granted`; its hold is named `p:op`. */
  grant(p: string, key: string, asked: number, granted: number, more: GrantParts = {}): string {
    const op = ++this.#op;
    const { token, validUntil, count, ...arg } = more;
    const f = "acquire";
    this.#add({ type: "invoke", p, f, key, op, arg }, asked);
    const hold = `${p}:${op}`;
    const ret = {
      hold,
      ...(token === undefined ? {} : { token: String(token) }),
      ...(validUntil === undefined ? {} : { validUntil: validUntil * 1e6 }),
      ...(count === undefined ? {} : { count }),
    };
    this.#add({ type: "ok", p, f, key, op, ret }, granted);
    return hold;
  }

  release(p: string, key: string, hold: string, asked: number, done: number, count?: number): void {
    const op = ++this.#op;
    this.#add({ type: "invoke", p, f: "release", key, op, hold }, asked);
    const ret = count === undefined ? {} : { ret: { count } };
    this.#add({ type: "ok", p, f: "release", key, op, ...ret }, done);
  }

  /** A write becomes a read. The read's hold is named `p:op`. */
  downgrade(p: string, key: string, hold: string, asked: number, done: number, token?: number): string {
    const op = ++this.#op;
    this.#add({ type: "invoke", p, f: "downgrade", key, op, hold }, asked);
    const read = `${p}:${op}`;
    const ret = { hold: read, ...(token === undefined ? {} : { token: String(token) }) };
    this.#add({ type: "ok", p, f: "downgrade", key, op, ret }, done);
    return read;
  }

  /** A hold from `granted` to `released`. Each call takes a millisecond. */
  hold(p: string, key: string, granted: number, released: number, more: GrantParts = {}): string {
    const hold = this.grant(p, key, granted - 1, granted, more);
    this.release(p, key, hold, released, released + 1);
    return hold;
  }

  asks(p: string, key: string, asked: number, parts: AskParts = {}): number {
    const op = ++this.#op;
    const { f = "acquire", outcome, ended, hold, ...arg } = parts;
    this.#add({ type: "invoke", p, f, key, op, arg, ...(hold === undefined ? {} : { hold }) }, asked);
    if (outcome !== undefined) this.#add({ type: outcome, p, f, key, op }, ended ?? asked + 1);
    return op;
  }

  lost(p: string, key: string, hold: string, at: number): void {
    this.#add({ type: "event", p, f: "lost", key, hold, cause: "session-expired" }, at);
  }

  extended(p: string, key: string, hold: string, at: number, until: number): void {
    this.#add({ type: "event", p, f: "extended", key, hold, validUntil: until * 1e6 }, at);
  }

  write(
    key: string,
    hold: string,
    at: number,
    read: number,
    more: { token?: number; accepted?: boolean } = {},
  ): void {
    const { token, accepted = true } = more;
    const shown = token === undefined ? {} : { token: String(token) };
    this.#add({ type: "effect", p: "resource", key, hold, accepted, read, value: read + 1, ...shown }, at);
  }

  queue(key: string, at: number, queue: readonly string[], left?: readonly string[]): void {
    const state = { holders: [], queue, ...(left === undefined ? {} : { left }) };
    this.#add({ type: "snapshot", p: "observer", key, state }, at);
  }

  fault(f: string, from: number, to: number, evidence: unknown = { pid: 1 }): void {
    this.#add({ type: "fault", p: "nemesis", f, phase: "begin", target: "s1", evidence }, from);
    this.#add({ type: "fault", p: "nemesis", f, phase: "end", target: "s1" }, to);
  }

  worker(p: string, f: WorkerRecord["f"], at: number): void {
    this.#add({ type: "worker", p, f }, at);
  }

  #add(record: Record<string, unknown>, atMs: number): void {
    this.records.push({
      i: this.records.length,
      t: Math.round(atMs * 1e6),
      ...record,
    } as unknown as HistoryRecord);
  }
}

interface GrantParts {
  readonly token?: number;
  readonly validUntil?: number;
  readonly mode?: "read" | "write";
  readonly permits?: number;
  readonly thread?: string;
  readonly count?: number;
  readonly waitMs?: number;
}

interface AskParts {
  readonly f?:
    | "acquire"
    | "try-acquire"
    | "release"
    | "await"
    | "count-down"
    | "resize"
    | "downgrade"
    | "write";
  readonly outcome?: "ok" | "fail" | "info";
  readonly ended?: number;
  readonly hold?: string;
  readonly mode?: "read" | "write";
  readonly waitMs?: number;
  readonly permits?: number;
  readonly thread?: string;
}
