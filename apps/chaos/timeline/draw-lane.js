import { svg } from "./svg.js";
import { shadeOf, visibleOf } from "./visible.js";

/** @import { Item, Lane } from "./items.js" */
/** @import { TimeView } from "./time-view.js" */

export const rowHeight = 18;
export const tokenHeight = 44;

/** @param {Lane} lane */
export const laneHeight = ({ group, rows }) => (group === "tokens" ? tokenHeight : rows * rowHeight) + 8;

/**
 * A lane with what of it is in view.
 * @param {Lane} lane
 * @param {TimeView} view
 * @returns {SVGElement}
 */
export function drawLane(lane, view) {
  const group = svg("g", { class: `lane ${lane.group}` });
  const { items, bins } = visibleOf(lane, view);
  for (const bin of bins) {
    const x = view.x(bin.from);
    const points = lane.group === "tokens";
    const shape = svg("rect", {
      class: `bin${bin.bad ? " bad" : ""} shade-${shadeOf(bin)}`,
      x,
      width: Math.max(1, view.x(bin.to) - x),
      y: points ? pointY(bin.level) - 2 : 4,
      height: points ? 4 : lane.rows * rowHeight - 3,
    });
    shape.append(svg("title", {}, `About ${bin.count} here; zoom in to see each`));
    group.append(shape);
  }
  if (lane.group === "tokens" && bins.length === 0) group.append(tokenSteps(items, view));
  // What convicts lies on top of what it is about.
  for (const item of [...items].sort((a, b) => weight(a) - weight(b)))
    group.append(drawItem(lane, item, view));
  return group;
}

/**
 * What is read out begins with what is to be seen, so that it can also be asked for by voice.
 * @param {Item} item
 */
const nameOf = ({ title, label }) => (title.includes(label) ? title : `${label}: ${title}`);

/** @param {Item} item */
const weight = ({ look, clash }) =>
  look === "role"
    ? 0
    : look === "wait" || look === "refused"
      ? 1
      : look === "lost" || look === "overlap"
        ? 4
        : clash
          ? 3
          : 2;

/**
 * @param {Lane} lane
 * @param {Item} item
 * @param {TimeView} view
 */
function drawItem(lane, item, view) {
  const group = svg("g", {
    class: `item ${item.look}${item.clash ? " clash" : ""}`,
    "data-id": item.id,
    "data-lane": lane.id,
    role: "button",
    tabindex: -1,
    "aria-label": nameOf(item),
  });
  group.append(svg("title", {}, item.title));
  const y = 4 + item.row * rowHeight;
  const x = view.x(item.from);
  if (lane.group === "tokens") group.append(tokenMark(item, x));
  else if (item.look === "lost") {
    const [top, bottom] = [2, lane.rows * rowHeight + 4];
    group.append(svg("path", { class: "mark", d: `M${x.toFixed(2)} ${top}V${bottom}m-4 0l4 -6l4 6z` }));
  } else {
    // What reaches far outside of the view would make numbers that browsers draw wrongly.
    const left = Math.max(-20, x);
    const right = Math.min(view.width + 20, view.x(item.to));
    const width = Math.max(2, right - left);
    group.append(svg("rect", { class: "bar", x: left, y, width, height: rowHeight - 3, rx: 2 }));
    const inside = Math.max(0, left);
    const room = Math.min(view.width, left + width) - inside - 6;
    const fits = Math.floor(room / (item.look === "overlap" ? 7.4 : 6.4));
    if (item.label !== "" && fits >= Math.min(4, item.label.length)) {
      const text = item.label.length <= fits ? item.label : `${item.label.slice(0, fits - 1)}…`;
      group.append(svg("text", { x: inside + 4, y: y + rowHeight - 7 }, text));
    }
  }
  return group;
}

/** @param {number} level */
const pointY = (level) => 4 + (1 - level) * (tokenHeight - 8) + 2;

/**
 * @param {Item} item
 * @param {number} x
 */
function tokenMark({ level, look }, x) {
  const y = pointY(level);
  if (look === "rejected") return svg("path", { class: "mark", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` });
  return svg("circle", { class: "mark", cx: x, cy: y, r: look === "fallen" ? 4.5 : 3 });
}

/**
 * The line through the tokens of grants.
 * @param {Item[]} items
 * @param {TimeView} view
 */
function tokenSteps(items, view) {
  const points = items
    .filter(({ look }) => look !== "rejected")
    .map(
      ({ from, level }, at) =>
        `${at === 0 ? "M" : "L"}${view.x(from).toFixed(1)} ${pointY(level).toFixed(1)}`,
    );
  return svg("path", { class: "steps", d: points.join("") });
}

/**
 * The times above the lanes.
 * @param {TimeView} view
 */
export function axisLabels(view) {
  const axis = svg("g", { class: "axis" });
  for (const tick of view.ticks()) {
    const x = view.x(tick);
    const anchor = x < 30 ? "start" : x > view.width - 30 ? "end" : "middle";
    axis.append(svg("text", { x, y: 14, "text-anchor": anchor }, view.label(tick)));
  }
  return axis;
}

/**
 * Lines through all lanes, one for each time above.
 * @param {TimeView} view
 * @param {number} height
 */
export function gridLines(view, height) {
  const grid = svg("g", { class: "grid", "aria-hidden": "true" });
  for (const tick of view.ticks()) {
    const x = view.x(tick);
    grid.append(svg("line", { x1: x, x2: x, y1: 0, y2: height }));
  }
  return grid;
}
