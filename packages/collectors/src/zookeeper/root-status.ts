import type { SourceStatus } from "../observe/collector.js";

/** How one source is doing; the list is told anew whenever a field changes. */
export class RootStatus {
  #now: SourceStatus;
  readonly #changed: () => void;

  constructor(source: string, cost: string | null, changed: () => void) {
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

  set(change: Partial<Omit<SourceStatus, "source">>): void {
    const names = Object.keys(change) as (keyof typeof change)[];
    if (names.every((name) => this.#now[name] === change[name])) return;
    this.#now = { ...this.#now, ...change };
    this.#changed();
  }

  /** Contact is gone: what is known is old. */
  stale(message: string): void {
    if (this.#now.state === "off") return;
    this.set({ state: this.#now.lastSuccessMs === null ? "down" : "stale", message });
  }
}
