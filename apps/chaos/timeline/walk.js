/** @import { Item, Lane } from "./items.js" */

/** What is drawn, as a keyboard walks through it: along a lane, and from lane to lane. */
export class Walk {
  /** @type {Lane[]} */
  lanes = [];

  /** @param {Element} drawing */
  constructor(drawing) {
    this.drawing = drawing;
  }

  /**
   * @param {string} lane
   * @param {string} id
   * @returns {SVGElement | null}
   */
  elementOf(lane, id) {
    return this.drawing.querySelector(`.item[data-lane="${CSS.escape(lane)}"][data-id="${CSS.escape(id)}"]`);
  }

  /**
   * @param {Element} element
   * @returns {{ lane: Lane | undefined, item: Item | undefined }}
   */
  itemOf(element) {
    const lane = this.lanes.find(({ id }) => id === element.getAttribute("data-lane"));
    return { lane, item: lane?.items.find(({ id }) => id === element.getAttribute("data-id")) };
  }

  /** To what a reader looks for, or else to whatever is drawn first. */
  first() {
    /** @type {SVGElement | null} */
    const first =
      this.drawing.querySelector(".item.clash, .item.overlap") ?? this.drawing.querySelector(".item");
    first?.focus();
  }

  /**
   * To the item before or after it in its lane.
   * @param {Element} from
   * @param {1 | -1} by
   */
  step(from, by) {
    const drawn = this.#drawnOf(from.getAttribute("data-lane") ?? "");
    drawn[drawn.indexOf(/** @type {SVGElement} */ (from)) + by]?.focus();
  }

  /**
   * To the nearest item of the next lane that has one.
   * @param {Element} from
   * @param {1 | -1} by
   */
  change(from, by) {
    const { lane, item } = this.itemOf(from);
    if (lane === undefined || item === undefined) return;
    const distance = (/** @type {Element} */ element) => Math.abs(this.#beginOf(element) - item.from);
    for (let at = this.lanes.indexOf(lane) + by; this.lanes[at] !== undefined; at += by) {
      const drawn = this.#drawnOf(this.lanes[at]?.id ?? "");
      const [nearest] = drawn.sort((a, b) => distance(a) - distance(b));
      if (nearest !== undefined) return nearest.focus();
    }
  }

  /**
   * The items of a lane that are drawn, by time.
   * @param {string} lane
   */
  #drawnOf(lane) {
    /** @type {SVGElement[]} */
    const drawn = [
      ...this.drawing.querySelectorAll(/** @type {"svg"} */ (`.item[data-lane="${CSS.escape(lane)}"]`)),
    ];
    return drawn.sort((a, b) => this.#beginOf(a) - this.#beginOf(b));
  }

  /** @param {Element} element */
  #beginOf(element) {
    return this.itemOf(element).item?.from ?? 0;
  }
}
