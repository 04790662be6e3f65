import { Chart } from "./chart.js";
import { findings } from "./findings.js";
import { lanesOf } from "./lanes.js";
import { Overview } from "./overview.js";
import { Records } from "./records.js";
import { html } from "./svg.js";
import { spanText, TimeView } from "./time-view.js";

/** @import { TimelineData } from "../src/report/timeline/data.js" */

const outcomes = {
  "as-expected": "as expected",
  violation: "violation",
  "not-demonstrated": "not demonstrated",
  unknown: "unknown",
  skipped: "skipped",
  broken: "broken",
  checked: "checked",
};

/** @type {TimelineData} */
const data = JSON.parse(document.getElementById("data")?.textContent ?? "null");
const view = new TimeView(data.endUs);
const records = new Records(document.getElementById("raw")?.textContent ?? "", data.rawIsPartial);
const status = html("p", { class: "shown", id: "shown", role: "status" });

const moved = () => {
  chart.draw();
  overview.draw();
  status.textContent = chart.inWords;
};
const chart = new Chart(view, data.faults, (item) => records.show(item.title, item.records), moved);
const overview = new Overview(data, view, moved);

let overlapAt = -1;
/** @param {TimelineData["overlaps"][number]} overlap */
function goToOverlap(overlap) {
  const [key, first, second, fromUs, toUs] = overlap;
  overlapAt = data.overlaps.indexOf(overlap);
  const around = Math.max(1_000, (toUs - fromUs) * 1.5);
  view.show(fromUs - around, toUs + around);
  moved();
  chart.element.scrollIntoView({ block: "nearest" });
  const names = [first, second].map((hold) => data.workers[data.holds[hold]?.[0] ?? -1] ?? "?");
  const of = [first, second].flatMap((hold) => (data.holds[hold] ?? []).slice(9).map(Number));
  records.show(
    `${names.join(" and ")} both held ${data.keys[key]?.name} for ${spanText(toUs - fromUs)}`,
    of.filter((i) => i >= 0),
  );
}

/**
 * @param {string} text
 * @param {readonly number[]} indexes
 */
function goToExample(text, indexes) {
  const times = indexes.flatMap((i) => records.time(i) ?? []);
  if (times.length > 0) {
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const around = Math.max(1_000, (to - from) * 0.2);
    view.show(from - around, to + around);
    moved();
    chart.element.scrollIntoView({ block: "nearest" });
  }
  records.show(text, indexes);
}

/** @param {1 | -1} by */
function stepOverlap(by) {
  const count = data.overlaps.length;
  const next = data.overlaps[(overlapAt + by + count) % Math.max(1, count)];
  if (next !== undefined) goToOverlap(next);
}

/**
 * @param {string} name
 * @param {string} title
 * @param {() => void} then
 */
function button(name, title, then) {
  const made = html("button", { type: "button", title }, name);
  made.addEventListener("click", then);
  return made;
}

/** @param {() => void} change */
const change = (change) => () => {
  change();
  moved();
};

const keySelect = html(
  "select",
  { id: "key" },
  html("option", { value: -1 }, data.keys.length === 1 ? "the only key" : `all ${data.keys.length} keys`),
);
data.keys.forEach(({ name, kind }, at) => {
  keySelect.append(html("option", { value: at }, `${name} (${kind})`));
});
keySelect.addEventListener("change", () => chart.setLanes(lanesOf(data, Number(keySelect.value))));

const themeSelect = html(
  "select",
  { id: "theme" },
  ...["system", "light", "dark"].map((name) => html("option", { value: name }, name)),
);
themeSelect.addEventListener("change", () => {
  document.documentElement.dataset.theme = themeSelect.value;
});

const toolbar = html(
  "div",
  { class: "toolbar", role: "group", "aria-label": "What is shown" },
  html("label", { for: "key" }, "Key"),
  keySelect,
  button(
    "Zoom in",
    "Zoom in (+)",
    change(() => view.zoom(0.5)),
  ),
  button(
    "Zoom out",
    "Zoom out (-)",
    change(() => view.zoom(2)),
  ),
  button(
    "Earlier",
    "Earlier (left arrow)",
    change(() => view.pan(-view.spanUs / 3)),
  ),
  button(
    "Later",
    "Later (right arrow)",
    change(() => view.pan(view.spanUs / 3)),
  ),
  button(
    "Whole run",
    "Whole run (0)",
    change(() => view.all()),
  ),
  ...(data.overlaps.length === 0
    ? []
    : [
        button("Previous overlap", "Previous overlap", () => stepOverlap(-1)),
        button("Next overlap", "Next overlap", () => stepOverlap(1)),
      ]),
  html("span", { class: "stretch" }),
  html("label", { for: "theme" }, "Theme"),
  themeSelect,
);

const looks = [
  ["hold", "holds"],
  ["read", "reads"],
  ["wait", "waits"],
  ["refused", "got nothing"],
  ["clash", "overlapping hold"],
  ["paused", "paused"],
  ["dead", "down or dead"],
  ["cut", "cut off"],
  ["lost", "told of a loss"],
  ["fault", "fault"],
];
const legend = html(
  "ul",
  { class: "legend", "aria-label": "Colours" },
  ...looks.map(([look = "", name = ""]) => html("li", {}, html("i", { class: `swatch ${look}` }), name)),
);

document.body.append(
  html(
    "header",
    {},
    html("h1", {}, html("span", { class: "id" }, data.scenario), data.title),
    html("span", { class: `outcome ${data.outcome}` }, outcomes[data.outcome]),
    html(
      "p",
      { class: "facts" },
      `${data.why === "" ? "" : `${data.why}. `}${data.operations} operations, ${data.holds.length} grants, ${data.faults.length} faults in ${spanText(data.endUs)}; seed ${data.seed}; run ${data.run}.`,
    ),
  ),
  html(
    "main",
    {},
    toolbar,
    overview.element,
    status,
    chart.element,
    legend,
    html(
      "p",
      { class: "help", id: "keys-help" },
      "Mouse: drag to move, Ctrl and wheel or a double click to zoom, click for the raw records. Keyboard, in the lanes: arrows move, + and - zoom, 0 shows the whole run, Enter goes to what is drawn; there arrows go from one to the next, Enter shows its records, Escape goes back.",
    ),
    html("div", { class: "below" }, findings(data, goToExample, goToOverlap), records.element),
  ),
);
chart.setLanes(lanesOf(data));
status.textContent = chart.inWords;
