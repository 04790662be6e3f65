/** The stretch of time that is shown, in microseconds, and how it lies on the screen. */
export class TimeView {
  /** @param {number} endUs The end of the run; the beginning is 0. */
  constructor(endUs) {
    this.endUs = endUs;
    this.fromUs = 0;
    this.toUs = endUs;
    /** Width of the drawing without its labels, in pixels. */
    this.width = 800;
    /** Below this nothing more can be told apart. */
    this.leastUs = Math.min(20, endUs);
  }

  get spanUs() {
    return this.toUs - this.fromUs;
  }

  /** @param {number} us */
  x(us) {
    return ((us - this.fromUs) / this.spanUs) * this.width;
  }

  /** @param {number} x */
  at(x) {
    return this.fromUs + (x / this.width) * this.spanUs;
  }

  /**
   * Shows a stretch, moved so that it lies within the run.
   * @param {number} fromUs
   * @param {number} toUs
   */
  show(fromUs, toUs) {
    const span = Math.min(Math.max(toUs - fromUs, this.leastUs), this.endUs);
    const middle = (fromUs + toUs) / 2;
    const from = Math.min(Math.max(middle - span / 2, 0), this.endUs - span);
    this.fromUs = from;
    this.toUs = from + span;
  }

  /**
   * Zooms in (factor below 1) or out; what is at `x` stays there.
   * @param {number} factor
   * @param {number} x
   */
  zoom(factor, x = this.width / 2) {
    const fixed = this.at(x);
    const span = Math.min(Math.max(this.spanUs * factor, this.leastUs), this.endUs);
    const from = fixed - (x / this.width) * span;
    this.show(from, from + span);
  }

  /** @param {number} us */
  pan(us) {
    this.show(this.fromUs + us, this.toUs + us);
  }

  all() {
    this.show(0, this.endUs);
  }

  get showsAll() {
    return this.spanUs >= this.endUs;
  }

  /**
   * Round times for the axis, about one every 110 pixels.
   * @returns {number[]}
   */
  ticks() {
    const about = this.spanUs / Math.max(2, this.width / 110);
    const power = 10 ** Math.floor(Math.log10(Math.max(1, about)));
    const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= about) ?? power * 10;
    const ticks = [];
    for (let n = Math.ceil(this.fromUs / step); n * step <= this.toUs; n++) ticks.push(n * step);
    return ticks;
  }

  /**
   * A time with as many digits as tell neighbours of this view apart.
   * @param {number} us
   */
  label(us) {
    const step = this.spanUs / 10;
    const digits =
      step >= 1e6 ? 0 : step >= 1e5 ? 1 : step >= 1e4 ? 2 : step >= 1e3 ? 3 : step >= 100 ? 4 : 6;
    return `${(us / 1e6).toFixed(digits)} s`;
  }
}

/**
 * How long something took, for people.
 * @param {number} us
 */
export function spanText(us) {
  if (us < 1_000) return `${us} µs`;
  if (us < 1e6) return `${(us / 1e3).toFixed(us < 1e4 ? 3 : 1)} ms`;
  return `${(us / 1e6).toFixed(3)} s`;
}

/**
 * A moment of the run, exact.
 * @param {number} us
 */
export const momentText = (us) => `${(us / 1e6).toFixed(6)} s`;
