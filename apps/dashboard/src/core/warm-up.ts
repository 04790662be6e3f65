import type { NamedCollector } from "./cluster-row.js";

const sliceMs = 10;
/** So many more locks than at the last walk are worth another. */
const newLocks = 1_000;

/**
 * Collectors make their rows when they are first asked for them. 100,000 at once would hold up everything else for half a second, so they
 * are asked for in small portions, before anybody needs them all.
 */
export class WarmUp {
  readonly #clusters: readonly NamedCollector[];
  readonly #walked: Map<string, number> = new Map();
  #walking = false;

  constructor(clusters: readonly NamedCollector[]) {
    this.#clusters = clusters;
  }

  /** Whether rows are still being made; begins to make them when there are many new ones. */
  busy(): boolean {
    if (!this.#walking) {
      const grown = this.#clusters.filter(
        ({ name, collector }) => collector.size - (this.#walked.get(name) ?? 0) >= newLocks,
      );
      if (grown.length > 0) void this.#walk(grown);
    }
    return this.#walking;
  }

  async #walk(clusters: readonly NamedCollector[]): Promise<void> {
    this.#walking = true;
    let sinceMs = performance.now();
    for (const { name, collector } of clusters) {
      this.#walked.set(name, collector.size);
      for (const _ of collector.locks()) {
        if (performance.now() - sinceMs < sliceMs) continue;
        await new Promise<void>((resolve) => setImmediate(resolve));
        sinceMs = performance.now();
      }
    }
    this.#walking = false;
  }
}
