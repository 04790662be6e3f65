import { html } from "./svg.js";
import { momentText, spanText } from "./time-view.js";

/** @import { TimelineData, TimelineVerdict as Verdict } from "../src/report/timeline/data.js" */

const mostOverlaps = 50;
const mostExamples = 3;
const words = { violation: "convicted", unknown: "unknown", pass: "pass" };

/**
 * Every verdict, convictions first, each example a button that goes to it; and every overlap.
 * @param {TimelineData} data
 * @param {(text: string, records: readonly number[]) => void} onExample
 * @param {(overlap: TimelineData["overlaps"][number]) => void} onOverlap
 */
export function findings(data, onExample, onOverlap) {
  const section = html(
    "section",
    { "aria-labelledby": "findings-title" },
    html("h2", { id: "findings-title" }, "Findings"),
  );
  if (data.overlaps.length > 0) section.append(overlapList(data, onOverlap));
  const list = html("ul", { class: "verdicts" });
  /** Which checker showed an example first: the same need not be read twice. @type {Map<string, string>} */
  const shown = new Map();
  for (const verdict of [...data.verdicts].sort((a, b) => weightOf(a) - weightOf(b)))
    list.append(entryOf(verdict, shown, onExample));
  section.append(list);
  return section;
}

/**
 * Convictions first, then what should have been judged and was not; what there was nothing of comes last.
 * @param {Verdict} verdict
 */
const weightOf = ({ verdict, expected }) =>
  verdict === "violation" ? 0 : verdict === "pass" ? 2 : expected === "" ? 3 : 1;

/**
 * @param {Verdict} about
 * @param {Map<string, string>} shown
 * @param {(text: string, records: readonly number[]) => void} onExample
 */
function entryOf({ checker, verdict, expected, summary, count, examples }, shown, onExample) {
  const asExpected = verdict === "violation" && expected === "violation" ? ", as expected" : "";
  const missed = verdict !== "violation" && expected === "violation" ? ", not demonstrated" : "";
  const first = examples[0]?.text ?? "";
  const before = shown.get(first);
  const convicts = verdict === "violation" && first !== "";
  const text = !convicts ? summary : before === undefined ? timesText(count) : `${count} times, as ${before}`;
  const entry = html(
    "li",
    { class: `verdict ${verdict}` },
    html("span", { class: "word" }, `${words[verdict]}${asExpected}${missed}`),
    html("b", {}, checker),
    html("span", { class: "summary" }, text),
  );
  if (before !== undefined) return entry;
  if (convicts) shown.set(first, checker);
  const buttons = examples
    .filter(({ records }) => records.length > 0)
    .slice(0, mostExamples)
    .map(({ text, records }) => {
      const button = html("button", { type: "button", class: "example" }, text);
      button.addEventListener("click", () => onExample(text, records));
      return html("li", {}, button);
    });
  if (buttons.length > 0) entry.append(html("ul", { class: "examples" }, ...buttons));
  return entry;
}

/**
 * @param {TimelineData} data
 * @param {(overlap: TimelineData["overlaps"][number]) => void} onOverlap
 */
function overlapList(data, onOverlap) {
  const total = data.overlaps.length + data.overlapsLeftOut;
  const list = html("ol", { class: "overlaps" });
  for (const overlap of data.overlaps.slice(0, mostOverlaps)) {
    const [key, first, second, fromUs, toUs] = overlap;
    const [a, b] = [first, second].map((hold) => data.workers[data.holds[hold]?.[0] ?? -1] ?? "?");
    const text = `${a} and ${b} both held ${data.keys[key]?.name} for ${spanText(toUs - fromUs)} from ${momentText(fromUs)}`;
    const button = html("button", { type: "button", class: "example bad" }, text);
    button.addEventListener("click", () => onOverlap(overlap));
    list.append(html("li", {}, button));
  }
  const more = total > mostOverlaps ? `, the first ${mostOverlaps} of them` : "";
  return html(
    "div",
    { class: "overlap-list" },
    html("h3", {}, `${total} overlap${total === 1 ? "" : "s"} of what the application was told${more}`),
    list,
  );
}

/** @param {number} count */
const timesText = (count) =>
  count === 1
    ? "once"
    : count <= mostExamples
      ? `${count} times`
      : `${count} times, the first ${mostExamples} here`;
