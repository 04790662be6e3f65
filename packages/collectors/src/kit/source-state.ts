import type { SourceStatus } from "../observe/collector.js";

/** The present status of one source. */
export class SourceState {
  #now: SourceStatus;
  readonly #changed: () => void;

  /** `changed` is called whenever a field has a new value. */
  constructor(source: string, cost: string | null, changed: () => void = () => {}) {
    this.#changed = changed;
    this.#now = {
      source,
      state: "starting",
      coverage: 0,
      lastSuccessMs: null,
      nextTryMs: null,
      cost,
      message: null,
    };
  }

  get now(): SourceStatus {
    return this.#now;
  }

  /** Returns true when the state or its message has changed, which viewers should see at once. */
  set(change: Partial<Omit<SourceStatus, "source">>): boolean {
    const before = this.#now;
    const names = Object.keys(change) as (keyof typeof change)[];
    if (names.every((name) => before[name] === change[name])) return false;
    this.#now = { ...before, ...change };
    this.#changed();
    return before.state !== this.#now.state || before.message !== this.#now.message;
  }

  /** The source cannot be asked now: it becomes `stale`, or `down` if it never succeeded. Returns what `set` returns. */
  lost(message: string, nextTryMs: number | null = this.#now.nextTryMs): boolean {
    if (this.#now.state === "off") return false;
    return this.set({ state: this.#now.lastSuccessMs === null ? "down" : "stale", message, nextTryMs });
  }
}
