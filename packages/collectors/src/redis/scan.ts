import type { Millis, Runtime } from "@holdfast/core";
import { type KeyPart, keyNameOf, type Patterns } from "./key-names.js";
import type { Link } from "./link.js";
import type { Places } from "./places.js";
import type { PolledSource } from "./polled-source.js";
import type { Reader } from "./reader.js";
import type { Reading, ReadingDepth } from "./reading.js";

export interface ScanParts {
  readonly places: Places;
  readonly runtime: Runtime;
  readonly reader: Reader;
  readonly patterns: Patterns;
  readonly callsPerSecond: number;
  readonly count: number;
  readonly state: PolledSource;
  readonly keyFor: (lock: string) => string;
  /** Whether the lock was read at this time, as of `Reading.readMs`, or later. */
  readonly readSince: (key: string, readMs: Millis) => boolean;
  /** Called at the end of a pass: every lock on this master that was not read since `from` is to be read again. */
  passed(link: Link, from: Pick<Reading, "atMs" | "readMs">): Promise<void>;
  onPass(tookMs: Millis): void;
  onStatus(): void;
}

/**
 * After the first pass, this many locks are read again in a second, on average. So a small database is read often, and a
 * large one does not get too much load.
 */
const readsPerSecond = 2_000;
const shortestPassMs: Millis = 2_000;
const retryMs: Millis = 1_000;

/** How deep a lock is read when SCAN returns a key that is this part of it. `full`: with all keys beside it. */
const telling: Partial<Record<KeyPart, ReadingDepth>> = {
  lock: "slim",
  waiters: "full",
  queue: "full",
  grants: "full",
  take: "full",
  // A text with a token beside it is a semaphore of ours. `MasterScan` reads such keys again in full.
  token: "slim",
  barrier: "slim",
  "double-barrier": "slim",
  members: "slim",
};

/**
 * Goes through all keys of each master again and again, with `callsPerSecond` calls in a second, and reads the locks among
 * them. SCAN returns each key that was there during the whole pass once or more. A key that came or went meanwhile may be
 * missed.
 */
export class Scan {
  readonly #parts: ScanParts;
  readonly #loops = new Map<Link, MasterScan>();
  #closed = false;

  constructor(parts: ScanParts) {
    this.#parts = parts;
  }

  /** Begins a loop for each new master, and ends the loops of servers that are no masters any more. */
  settle(): void {
    if (this.#closed || this.#parts.callsPerSecond === 0) return;
    const masters = new Set(this.#parts.places.masters());
    for (const [link, loop] of this.#loops) {
      if (masters.has(link)) continue;
      loop.end();
      this.#loops.delete(link);
    }
    for (const link of masters) {
      if (this.#loops.has(link)) continue;
      const loop = new MasterScan(link, this.#parts, () => this.#told());
      this.#loops.set(link, loop);
      void loop.run();
    }
  }

  close(): void {
    this.#closed = true;
    for (const loop of this.#loops.values()) loop.end();
  }

  #told(): void {
    const { state, runtime } = this.#parts;
    const loops = [...this.#loops.values()];
    const failed = loops.find((loop) => loop.error !== null);
    const nowMs = runtime.wallMs();
    const coverage = loops.reduce((sum, loop) => sum + loop.coverage, 0) / Math.max(1, loops.length);
    let news: boolean;
    if (failed !== undefined) news = state.failed(failed.error, nowMs + retryMs);
    else if (loops.every((loop) => loop.passMs !== null)) {
      const passMs = Math.min(...loops.map((loop) => loop.passMs ?? nowMs));
      news = state.ok(passMs, "ok", null, nowMs);
    } else news = state.ok(nowMs, "syncing", "the first pass over all keys is under way");
    const before = state.now.coverage;
    state.set({ coverage });
    if (news || Math.floor(before * 20) !== Math.floor(coverage * 20)) this.#parts.onStatus();
  }
}

class MasterScan {
  /** The share of the keys that the first pass has seen; after the first pass 1. */
  coverage = 0;
  /** When the last whole pass ended. */
  passMs: Millis | null = null;
  error: unknown = null;
  readonly #link: Link;
  readonly #parts: ScanParts;
  readonly #told: () => void;
  #ended = false;
  #wake = (): void => {};

  constructor(link: Link, parts: ScanParts, told: () => void) {
    this.#link = link;
    this.#parts = parts;
    this.#told = told;
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async run(): Promise<void> {
    const { runtime } = this.#parts;
    while (!this.#ended) {
      const startedMs = runtime.nowMs();
      try {
        const read = await this.#pass();
        this.error = null;
        const restMs = Math.max(shortestPassMs, (read / readsPerSecond) * 1_000);
        await this.#pause(restMs - (runtime.nowMs() - startedMs));
      } catch (error) {
        if (this.#ended) return;
        // An outage at the start is no finding yet: connections take their time.
        this.error = error;
        this.#told();
        await this.#pause(retryMs);
      }
    }
  }

  /** Makes one pass. Resolves with the number of locks that were read. */
  async #pass(): Promise<number> {
    const { runtime, patterns, count, callsPerSecond } = this.#parts;
    const from = { atMs: runtime.wallMs(), readMs: runtime.nowMs() };
    const size = Number(await this.#link.ask("dbsize"));
    const everyMs = 1_000 / callsPerSecond;
    const match = patterns.match === null ? [] : ["match", patterns.match];
    let cursor = "0";
    let calls = 0;
    let read = 0;
    let reading: Promise<void> = Promise.resolve();
    let nextMs = runtime.nowMs();
    const tokens = new Set<string>();
    do {
      await this.#pause(nextMs - runtime.nowMs());
      if (this.#ended) return read;
      nextMs = Math.max(nextMs + everyMs, runtime.nowMs() + everyMs / 2);
      const answer = await this.#link.ask("scan", cursor, ...match, "count", count);
      const [next, keys] = answer as [string, string[]];
      cursor = next;
      calls++;
      await reading;
      const { slim, full } = this.#pick(keys, from.readMs, tokens);
      read += slim.length + full.length;
      reading = this.#read(slim, full, tokens);
      // An error of this reading is thrown where it is awaited: in the next turn, or below.
      reading.catch(() => {});
      if (this.passMs === null) this.coverage = Math.min(0.99, (calls * count) / Math.max(1, size));
      this.#told();
    } while (cursor !== "0");
    await reading;
    await this.#parts.passed(this.#link, from);
    this.#parts.onPass(runtime.nowMs() - from.readMs);
    this.passMs = runtime.wallMs();
    this.coverage = 1;
    this.error = null;
    this.#told();
    return read;
  }

  async #read(slim: readonly string[], full: readonly string[], tokens: ReadonlySet<string>): Promise<void> {
    const { reader } = this.#parts;
    await reader.readAt(this.#link, full, "full");
    const texts = await reader.readAt(this.#link, slim, "slim");
    await reader.readAt(
      this.#link,
      texts.filter((key) => tokens.has(key)),
      "full",
    );
  }

  #pick(keys: readonly string[], fromMs: Millis, tokens: Set<string>): { slim: string[]; full: string[] } {
    const { patterns, keyFor, readSince } = this.#parts;
    const depths = new Map<string, ReadingDepth>();
    for (const key of keys) {
      const { lock, part } = keyNameOf(key);
      const depth = telling[part];
      if (depth === undefined || !patterns.includes(lock)) continue;
      const own = part === "lock" ? lock : keyFor(lock);
      if (part === "token") tokens.add(own);
      if (depth === "full" || !depths.has(own)) depths.set(own, depth);
    }
    const slim: string[] = [];
    const full: string[] = [];
    for (const [lock, depth] of depths) {
      if (readSince(lock, fromMs) && depth === "slim") continue;
      (depth === "full" ? full : slim).push(lock);
    }
    return { slim, full };
  }

  #pause(forMs: Millis): Promise<void> {
    if (this.#ended || forMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#parts.runtime.setTimer(forMs, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}
