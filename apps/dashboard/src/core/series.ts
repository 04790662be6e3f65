import type { Overview } from "../contract/api.js";

type Point = Overview["series"][number];

/** One point is added every 5 s, for 10 minutes. */
export const pointEveryMs = 5_000;
const mostPoints = 120;

export class Series {
  #points: Point[] = [];

  add(point: Point): void {
    this.#points = [...this.#points.slice(1 - mostPoints), point];
  }

  points(): Point[] {
    return this.#points;
  }
}
