import { html, svg } from "./svg.js";

/** @import { TimelineData } from "../src/report/timeline/data.js" */
/** @import { TimeView } from "./time-view.js" */

const columns = 240;
const height = 34;

/** The whole run in a strip: how much was granted when, faults, overlaps, and the window that is shown below. */
export class Overview {
  /**
   * @param {TimelineData} data
   * @param {TimeView} view
   * @param {() => void} onMove
   */
  constructor(data, view, onMove) {
    this.view = view;
    this.onMove = onMove;
    this.window = svg("rect", { class: "window", y: 1, height: height - 2 });
    const picture = svg("svg", {
      class: "overview",
      viewBox: `0 0 ${columns} ${height}`,
      preserveAspectRatio: "none",
      height,
      role: "img",
      "aria-label": `The whole run: ${data.holds.length} grants, ${data.faults.length} faults, ${data.overlaps.length + data.overlapsLeftOut} overlaps`,
    });
    picture.append(...bars(data), this.window);
    this.element = html("div", { class: "overview-holder" }, picture);
    picture.addEventListener("pointerdown", (event) => this.#drag(picture, event));
    this.draw();
  }

  draw() {
    const { fromUs, spanUs, endUs } = this.view;
    this.window.setAttribute("x", String((fromUs / endUs) * columns));
    this.window.setAttribute("width", String(Math.max(1, (spanUs / endUs) * columns)));
  }

  /**
   * @param {Element} picture
   * @param {PointerEvent} event
   */
  #drag(picture, event) {
    /** @param {PointerEvent} at */
    const centre = (at) => {
      const { left, width } = picture.getBoundingClientRect();
      const us = ((at.clientX - left) / width) * this.view.endUs;
      this.view.show(us - this.view.spanUs / 2, us + this.view.spanUs / 2);
      this.onMove();
    };
    centre(event);
    picture.setPointerCapture(event.pointerId);
    const ends = new AbortController();
    picture.addEventListener("pointermove", (moved) => centre(/** @type {PointerEvent} */ (moved)), {
      signal: ends.signal,
    });
    for (const name of ["pointerup", "pointercancel"])
      picture.addEventListener(name, () => ends.abort(), { once: true, signal: ends.signal });
  }
}

/**
 * @param {TimelineData} data
 * @returns {Element[]}
 */
function bars({ endUs, holds, faults, overlaps }) {
  const counts = new Array(columns).fill(0);
  for (const [, , , from] of holds) counts[Math.min(columns - 1, Math.floor((from / endUs) * columns))] += 1;
  const most = Math.max(1, ...counts);
  const x = (/** @type {number} */ us) => (us / endUs) * columns;
  return [
    ...faults
      .slice(0, 1_000)
      .map(({ fromUs, toUs }) =>
        svg("rect", { class: "band", x: x(fromUs), width: Math.max(0.5, x(toUs) - x(fromUs)), y: 0, height }),
      ),
    svg("path", {
      class: "grants",
      d: counts
        .map((count, at) => `M${at} ${height}v${-((count / most) * (height - 10)).toFixed(1)}h1V${height}z`)
        .join(""),
    }),
    ...overlaps.map(([, , , fromUs, toUs]) =>
      svg("rect", {
        class: "overlap",
        x: x(fromUs),
        width: Math.max(0.8, x(toUs) - x(fromUs)),
        y: 0,
        height: 7,
      }),
    ),
  ];
}
