/** The times are in milliseconds. */
export interface LatencySummary {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/**
 * Keeps every sample. A run has a few hundred thousand, and the most important one is the largest of the last
 * percentile.
 */
export class Latencies {
  #samples = new Float64Array(1 << 16);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(ms: number): void {
    if (this.#count === this.#samples.length) {
      const larger = new Float64Array(this.#samples.length * 2);
      larger.set(this.#samples);
      this.#samples = larger;
    }
    this.#samples[this.#count++] = ms;
  }

  countOver(ms: number): number {
    let over = 0;
    for (let i = 0; i < this.#count; i++) if ((this.#samples[i] as number) > ms) over++;
    return over;
  }

  summary(): LatencySummary {
    const sorted = this.#samples.slice(0, this.#count).sort();
    const at = (share: number): number =>
      sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
    return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  }
}
