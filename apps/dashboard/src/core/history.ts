import type { CollectorEvent } from "@holdfast/collectors";
import type { HistoryRow, LockHistory } from "../contract/api.js";

type Turn = Extract<CollectorEvent, { type: "granted" | "released" }>;

/** Upper bounds of the histogram of holds, ms. */
const boundsMs: readonly number[] = [
  1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000,
];

class Pages {
  /** All turns after this moment were noted. */
  readonly sinceMs: number;
  /** Oldest first. */
  readonly rows: HistoryRow[] = [];
  readonly counts: number[] = new Array<number>(boundsMs.length + 1).fill(0);

  constructor(sinceMs: number) {
    this.sinceMs = sinceMs;
  }
}

/**
 * What happened to each lock since the start: its last turns, and how long it was held. It keeps at most `mostRows`
 * turns of each lock, and `mostLocks` locks. The lock whose last turn is oldest is forgotten first.
 */
export class HistoryBook {
  /**
   * The start, or the last turn of all locks that were dropped. A lock without pages has had no turn after this moment.
   */
  #sinceMs: number;
  readonly #mostLocks: number;
  readonly #mostRows: number;
  /** The pages of each lock; the lock with the newest turn is the last. */
  readonly #locks: Map<string, Pages> = new Map();

  constructor(options: {
    readonly sinceMs: number;
    readonly mostLocks?: number;
    readonly mostRows?: number;
  }) {
    this.#sinceMs = options.sinceMs;
    this.#mostLocks = options.mostLocks ?? 5_000;
    this.#mostRows = options.mostRows ?? 32;
  }

  get size(): number {
    return this.#locks.size;
  }

  add(event: Turn): void {
    const pages = this.#locks.get(event.key) ?? new Pages(this.#sinceMs);
    this.#locks.delete(event.key);
    this.#locks.set(event.key, pages);
    if (this.#locks.size > this.#mostLocks) {
      const [oldest] = this.#locks;
      if (oldest !== undefined) {
        const [key, dropped] = oldest;
        this.#locks.delete(key);
        this.#sinceMs = Math.max(this.#sinceMs, dropped.rows.at(-1)?.atMs ?? 0);
      }
    }
    const { type, entry, atMs, token, heldMs } = event;
    pages.rows.push({ type, entry, atMs, token, heldMs });
    if (pages.rows.length > this.#mostRows) pages.rows.shift();
    if (type === "released" && heldMs !== null) {
      const at = boundsMs.findIndex((bound) => heldMs <= bound);
      const slot = at === -1 ? boundsMs.length : at;
      pages.counts[slot] = (pages.counts[slot] ?? 0) + 1;
    }
  }

  of(key: string): LockHistory {
    const pages = this.#locks.get(key) ?? new Pages(this.#sinceMs);
    return {
      sinceMs: pages.sinceMs,
      rows: pages.rows.toReversed(),
      holdHistogram: pages.counts.map((count, index) => ({ leMs: boundsMs[index] ?? null, count })),
    };
  }
}
