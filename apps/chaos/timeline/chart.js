import { axisLabels, drawLane, gridLines, laneHeight } from "./draw-lane.js";
import { html, svg } from "./svg.js";
import { momentText, spanText } from "./time-view.js";
import { Walk } from "./walk.js";

/** @import { TimelineFault } from "../src/report/timeline/data.js" */
/** @import { Item, Lane } from "./items.js" */
/** @import { TimeView } from "./time-view.js" */

const gutter = 128;
const headingHeight = 22;
/** More bands than this are no background any more. */
const mostBands = 400;
const headings = {
  faults: "",
  servers: "Servers",
  keys: "Keys: who holds",
  tokens: "Tokens",
  workers: "Workers",
};

/** The lanes under one axis: draws what is in view, and lets it be moved by mouse and keyboard. */
export class Chart {
  /** @type {Lane[]} */
  #lanes = [];
  #chosen = "";
  #waiting = false;
  #dragged = false;
  /** @type {Walk} */
  #walk;

  /**
   * @param {TimeView} view
   * @param {readonly TimelineFault[]} faults
   * @param {(item: Item) => void} onChoose
   * @param {() => void} onMove
   */
  constructor(view, faults, onChoose, onMove) {
    this.view = view;
    this.faults = faults;
    this.onChoose = onChoose;
    this.onMove = onMove;
    this.axis = svg("svg", { class: "axis-strip", height: 20, "aria-hidden": "true" });
    this.drawing = svg("svg", { class: "lanes", role: "presentation" });
    this.#walk = new Walk(this.drawing);
    this.element = html(
      "div",
      {
        class: "chart",
        id: "chart",
        role: "group",
        tabindex: 0,
        "aria-label": "Lanes over time",
        "aria-describedby": "keys-help",
      },
      html("div", { class: "axis-holder" }, this.axis),
      this.drawing,
    );
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.drawing.addEventListener("click", (event) => this.#click(event));
    this.drawing.addEventListener("dblclick", (event) =>
      this.#move(() => this.view.zoom(0.4, this.#x(event))),
    );
    this.drawing.addEventListener("pointerdown", (event) => this.#drag(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** @param {Lane[]} lanes */
  setLanes(lanes) {
    this.#lanes = lanes;
    this.#walk.lanes = lanes;
    this.draw();
  }

  /** Draws at the next frame; however often it is called before that, once. */
  draw() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      this.#drawNow();
    });
  }

  /**
   * Changes the view, and draws it.
   * @param {() => void} change
   */
  #move(change) {
    change();
    this.onMove();
  }

  #drawNow() {
    const { view } = this;
    view.width = Math.max(200, this.element.clientWidth - gutter - 14);
    const focused = /** @type {Element | null} */ (document.activeElement?.closest?.("#chart .item") ?? null);
    const focus =
      focused === null ? null : [focused.getAttribute("data-lane"), focused.getAttribute("data-id")];
    const clip = svg(
      "clipPath",
      { id: "in-view" },
      svg("rect", { x: 0, y: 0, width: view.width, height: 1e6 }),
    );
    const body = svg("g", { transform: `translate(${gutter} 0)`, "clip-path": "url(#in-view)" });
    const names = svg("g", { class: "names" });
    const lanes = svg("g");
    let y = 0;
    let group = "";
    for (const lane of this.#lanes) {
      if (lane.group !== group) {
        group = lane.group;
        const heading = headings[lane.group];
        if (heading !== "") {
          names.append(svg("text", { class: "heading", x: 8, y: y + 16 }, heading));
          y += headingHeight;
        }
      }
      const height = laneHeight(lane);
      names.append(svg("line", { class: "rule", x1: 0, x2: gutter + view.width, y1: y, y2: y }));
      const name = svg(
        "text",
        { class: "name", x: 12, y: y + 17 },
        clipped(lane.name),
        svg("title", {}, lane.name),
      );
      if (lane.note !== "") name.append(svg("tspan", { class: "note", dx: 6 }, lane.note));
      names.append(name);
      const drawn = drawLane(lane, view);
      drawn.setAttribute("transform", `translate(0 ${y})`);
      lanes.append(drawn);
      y += height;
    }
    body.append(this.#bands(y), gridLines(view, y), lanes);
    this.drawing.replaceChildren(svg("defs", {}, clip), names, body);
    this.drawing.setAttribute("height", String(y));
    this.axis.replaceChildren(svg("g", { transform: `translate(${gutter} 0)` }, axisLabels(view)));
    this.#mark();
    if (focus !== null)
      (this.#walk.elementOf(focus[0] ?? "", focus[1] ?? "") ?? this.element).focus({ preventScroll: true });
    this.element.setAttribute("data-drawn", `${view.fromUs} ${view.toUs}`);
  }

  /** @param {number} height */
  #bands(height) {
    const bands = svg("g", { class: "bands", "aria-hidden": "true" });
    const seen = this.faults.filter(
      ({ fromUs, toUs }) => toUs >= this.view.fromUs && fromUs <= this.view.toUs,
    );
    for (const { fromUs, toUs } of seen.slice(0, mostBands)) {
      const left = Math.max(-5, this.view.x(fromUs));
      const right = Math.min(this.view.width + 5, this.view.x(toUs));
      bands.append(svg("rect", { x: left, y: 0, width: Math.max(1, right - left), height }));
    }
    return bands;
  }

  #mark() {
    for (const element of this.drawing.querySelectorAll(".chosen")) element.classList.remove("chosen");
    if (this.#chosen === "") return;
    const [lane = "", id = ""] = this.#chosen.split("\n");
    this.#walk.elementOf(lane, id)?.classList.add("chosen");
  }

  /** @param {Element | null} element */
  #choose(element) {
    if (element === null) return;
    const { lane, item } = this.#walk.itemOf(element);
    if (lane === undefined || item === undefined) return;
    this.#chosen = `${lane.id}\n${item.id}`;
    this.#mark();
    this.onChoose(item);
  }

  /** @param {Event} event */
  #click(event) {
    if (this.#dragged) return;
    const element = event.target instanceof Element ? event.target.closest(".item") : null;
    if (element instanceof SVGElement) element.focus({ preventScroll: true });
    this.#choose(element);
  }

  /** @param {MouseEvent} event */
  #x(event) {
    return event.clientX - this.drawing.getBoundingClientRect().left - gutter;
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const zooms = event.ctrlKey || event.metaKey || event.altKey;
    // Without a key the wheel scrolls the lanes, as it does anywhere else.
    if (!zooms && !sideways) return;
    event.preventDefault();
    const by = event.deltaMode === 1 ? 16 : 1;
    const delta = (sideways && !zooms && event.deltaX !== 0 ? event.deltaX : event.deltaY) * by;
    const { view } = this;
    if (zooms) this.#move(() => view.zoom(1.0015 ** delta, this.#x(event)));
    else this.#move(() => view.pan((delta / view.width) * view.spanUs));
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    this.#dragged = false;
    if (event.button !== 0) return;
    const { view } = this;
    const [startX, from, to] = [event.clientX, view.fromUs, view.toUs];
    /** @param {PointerEvent} moved */
    const move = (moved) => {
      const dx = moved.clientX - startX;
      if (!this.#dragged && Math.abs(dx) < 4) return;
      // From here on it is no click: the pointer belongs to the drawing.
      if (!this.#dragged) this.drawing.setPointerCapture(moved.pointerId);
      this.#dragged = true;
      const us = (-dx / view.width) * (to - from);
      this.#move(() => view.show(from + us, to + us));
    };
    const ends = new AbortController();
    this.drawing.addEventListener("pointermove", move, { signal: ends.signal });
    for (const name of ["pointerup", "pointercancel"])
      this.drawing.addEventListener(name, () => ends.abort(), { once: true, signal: ends.signal });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { view } = this;
    const item = event.target instanceof Element ? event.target.closest(".item") : null;
    /** @type {Record<string, () => void>} */
    const moves = {
      "+": () => view.zoom(0.5),
      "=": () => view.zoom(0.5),
      "-": () => view.zoom(2),
      0: () => view.all(),
      Home: () => view.show(0, view.spanUs),
      End: () => view.show(view.endUs - view.spanUs, view.endUs),
      ...(item === null
        ? { ArrowLeft: () => view.pan(-view.spanUs / 8), ArrowRight: () => view.pan(view.spanUs / 8) }
        : {}),
    };
    /** @type {Record<string, () => void>} */
    const steps =
      item === null
        ? { Enter: () => this.#walk.first() }
        : {
            Enter: () => this.#choose(item),
            " ": () => this.#choose(item),
            Escape: () => this.element.focus({ preventScroll: true }),
            ArrowLeft: () => this.#walk.step(item, -1),
            ArrowRight: () => this.#walk.step(item, 1),
            ArrowUp: () => this.#walk.change(item, -1),
            ArrowDown: () => this.#walk.change(item, 1),
          };
    const [move, step] = [moves[event.key], steps[event.key]];
    if (move === undefined && step === undefined) return;
    event.preventDefault();
    if (move !== undefined) this.#move(move);
    else step?.();
  }

  /** What is in view, in words. */
  get inWords() {
    const { fromUs, toUs, spanUs } = this.view;
    return `${momentText(Math.round(fromUs))} to ${momentText(Math.round(toUs))}, ${spanText(Math.round(spanUs))}`;
  }
}

/** @param {string} name */
const clipped = (name) => (name.length <= 15 ? name : `${name.slice(0, 14)}…`);
