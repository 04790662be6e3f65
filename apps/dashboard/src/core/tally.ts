import type { Overview } from "../contract/api.js";
import { Series } from "./series.js";

const hourMs = 3_600_000;
/** The highest number that is counted: for a reader 10,000 and 11,000 lost locks mean the same. */
const mostLosses = 10_000;

/** What happened in one cluster, or in all: grants, and holds that ended without a release. */
export class Tally {
  readonly series: Series = new Series();
  readonly #sinceMs: number;
  /** The moments of losses, oldest first. */
  #losses: number[] = [];
  #grants = 0;
  #grantsAtPoint = 0;
  #grantsPerSecond = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  get grantsPerSecond(): number {
    return this.#grantsPerSecond;
  }

  granted(): void {
    this.#grants += 1;
  }

  lost(atMs: number, holds = 1): void {
    for (let n = 0; n < holds; n++) this.#losses.push(atMs);
    if (this.#losses.length > mostLosses) this.#losses = this.#losses.slice(-mostLosses);
  }

  /** The losses within the last hour, or since the start if that is shorter. */
  losses(nowMs: number): Overview["lost"] {
    const fromMs = nowMs - hourMs;
    if ((this.#losses[0] ?? nowMs) < fromMs) this.#losses = this.#losses.filter((atMs) => atMs >= fromMs);
    return { count: this.#losses.length, sinceMs: Math.max(this.#sinceMs, fromMs) };
  }

  /** `passedMs`: the time since the point before. */
  point(
    figures: { readonly atMs: number; readonly waiting: number; readonly held: number },
    passedMs: number,
  ): void {
    const grants = this.#grants - this.#grantsAtPoint;
    this.#grantsPerSecond = (grants * 1_000) / passedMs;
    this.#grantsAtPoint = this.#grants;
    this.series.add({ ...figures, grants });
  }
}
