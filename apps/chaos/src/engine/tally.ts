import { isMiss } from "../history/history.js";
import type { HistoryRecord, OutcomeRecord } from "../history/record.js";

/** A hold that a worker was granted and has not given back, according to the records that have arrived. */
export interface LiveHold {
  readonly id: string;
  readonly key: string;
  readonly p: string;
  readonly mode: "read" | "write";
  /** When the record of its grant arrived, on the clock of `performance.now()`. */
  readonly sinceMs: number;
}

export interface LiveWait {
  readonly p: string;
  readonly op: number;
  readonly key: string;
}

/** A worker that gave back a lock which its client keeps for the next owner. The client may have lent the lock again by now. */
export interface LiveKeeping {
  /** The id of the first release that kept the lock. */
  readonly id: string;
  readonly p: string;
}

interface Counts {
  grants: number;
  writes: number;
  readonly grantedTo: Set<string>;
}

/**
 * The state of the run according to the records so far. The nemesis aims by it, and the engine waits for conditions on
 * it. It is never used to judge.
 */
export class Tally {
  readonly #holds = new Map<string, LiveHold>();
  readonly #waits = new Map<string, LiveWait>();
  /** The keepings by key. */
  readonly #keepings = new Map<string, LiveKeeping>();
  readonly #modes = new Map<string, "read" | "write">();
  readonly #counts = new Map<string, Counts>();
  readonly #begun = new Map<string, number>();
  readonly #ended = new Map<string, number>();
  readonly #dead = new Set<string>();
  /** The holds whose write was sent. */
  readonly #wrote = new Set<string>();
  /** The holds whose owner asked to give them back. */
  readonly #given = new Set<string>();
  #watchers: { test: () => boolean; resolve: (met: boolean) => void }[] = [];
  /**
   * When a lock was last granted or given back, according to the records that have arrived, on the clock of
   * `performance.now()`.
   */
  changedMs = 0;
  #grants = 0;
  #faults = 0;
  /** The latest time stamp of all records of faults. */
  #faultAt = -1;

  see(record: HistoryRecord): void {
    switch (record.type) {
      case "invoke":
        if (acquires(record.f)) {
          const name = `${record.p}:${record.op}`;
          this.#waits.set(name, { p: record.p, op: record.op, key: record.key });
          this.#modes.set(name, record.arg?.mode ?? "write");
        } else if ((record.f === "release" || record.f === "downgrade") && record.hold !== undefined) {
          this.#holds.delete(record.hold);
          this.#given.add(record.hold);
        } else if (record.f === "write" && record.hold !== undefined) this.#wrote.add(record.hold);
        break;
      case "ok":
      case "fail":
      case "info":
        this.#ends(record);
        break;
      case "event":
        if (record.f === "lost" && record.hold !== undefined) this.#holds.delete(record.hold);
        break;
      case "effect":
        this.of(record.key).writes += 1;
        break;
      case "worker":
        if (record.f === "killed" || record.f === "exit") this.#died(record.p);
        break;
      case "fault": {
        const counts = record.phase === "begin" ? this.#begun : this.#ended;
        if (!isMiss(record)) counts.set(record.f, (counts.get(record.f) ?? 0) + 1);
        if (record.phase === "begin") this.#faults += 1;
        this.#faultAt = Math.max(this.#faultAt, record.t);
        break;
      }
      case "meta":
      case "snapshot":
        break;
    }
    this.#look();
  }

  holders(key: string): LiveHold[] {
    return [...this.#holds.values()].filter((hold) => hold.key === key);
  }

  waiters(key: string): LiveWait[] {
    return [...this.#waits.values()].filter((wait) => wait.key === key);
  }

  /**
   * The worker whose provider keeps the lock of this key, according to the records that have arrived; `null` if there
   * is none.
   */
  keeping(key: string): LiveKeeping | null {
    return this.#keepings.get(key) ?? null;
  }

  /** Whether the hold's owner has sent the write for which it took the lock. */
  wrote(id: string): boolean {
    return this.#wrote.has(id);
  }

  /** Whether the hold's owner has asked to give it back. */
  givenBack(id: string): boolean {
    return this.#given.has(id);
  }

  of(key: string): Counts {
    let counts = this.#counts.get(key);
    if (counts === undefined) {
      counts = { grants: 0, writes: 0, grantedTo: new Set() };
      this.#counts.set(key, counts);
    }
    return counts;
  }

  begun(fault: string): number {
    return this.#begun.get(fault) ?? 0;
  }

  ended(fault: string): number {
    return this.#ended.get(fault) ?? 0;
  }

  get grants(): number {
    return this.#grants;
  }

  get faults(): number {
    return this.#faults;
  }

  /** Forgets to whom each key was granted, so that only grants after the last fault count. */
  forgetClients(): void {
    for (const counts of this.#counts.values()) counts.grantedTo.clear();
  }

  /**
   * Resolves with true when `test` holds; it is checked after each record. Resolves with false if the signal aborts or
   * the time is over first.
   */
  until(test: () => boolean, options: { signal?: AbortSignal; withinMs?: number } = {}): Promise<boolean> {
    if (test()) return Promise.resolve(true);
    if (options.signal?.aborted === true) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (met: boolean): void => {
        this.#watchers = this.#watchers.filter((each) => each !== watcher);
        options.signal?.removeEventListener("abort", no);
        clearTimeout(timer);
        resolve(met);
      };
      const no = (): void => settle(false);
      const watcher = { test, resolve: settle };
      const timer = options.withinMs === undefined ? undefined : setTimeout(no, options.withinMs);
      options.signal?.addEventListener("abort", no);
      this.#watchers.push(watcher);
    });
  }

  #ends(record: OutcomeRecord): void {
    const name = `${record.p}:${record.op}`;
    this.#waits.delete(name);
    const mode = this.#modes.get(name) ?? "read";
    this.#modes.delete(name);
    if (record.f === "release") this.#givesBack(record);
    const grants = acquires(record.f) || record.f === "downgrade";
    if (record.type === "ok" && (grants || record.f === "release")) this.changedMs = performance.now();
    if (record.type !== "ok" || !grants) return;
    const id = record.ret?.hold ?? name;
    if (!this.#dead.has(record.p))
      this.#holds.set(id, { id, key: record.key, p: record.p, mode, sinceMs: performance.now() });
    if (!acquires(record.f)) return;
    if (this.#keepings.get(record.key)?.p !== record.p) this.#keepings.delete(record.key);
    const counts = this.of(record.key);
    counts.grants += 1;
    // The record of a grant from before the last fault's end may arrive after that end.
    if (record.t > this.#faultAt) counts.grantedTo.add(record.p);
    this.#grants += 1;
  }

  #givesBack({ p, op, key, ret }: OutcomeRecord): void {
    const keeps = this.#keepings.get(key)?.p === p;
    if (ret?.kept !== true) {
      if (keeps) this.#keepings.delete(key);
    } else if (!keeps && !this.#dead.has(p)) this.#keepings.set(key, { id: `${p}:${op}`, p });
  }

  #died(p: string): void {
    this.#dead.add(p);
    for (const [key, keeping] of this.#keepings) if (keeping.p === p) this.#keepings.delete(key);
    for (const [id, hold] of this.#holds) if (hold.p === p) this.#holds.delete(id);
    for (const [name, wait] of this.#waits) if (wait.p === p) this.#waits.delete(name);
  }

  #look(): void {
    for (const watcher of this.#watchers) if (watcher.test()) watcher.resolve(true);
  }
}

const acquires = (f: string): boolean => f === "acquire" || f === "try-acquire";
