/** @import { Item, Lane } from "./items.js" */
/** @import { TimeView } from "./time-view.js" */

/**
 * Many items that lie too close to be told apart, as one.
 * @typedef {object} Bin
 * @property {number} from
 * @property {number} to
 * @property {number} count At least so many: what reaches over several is counted in each.
 * @property {number} busy Share of its time that something is on, 0 to 1.
 * @property {boolean} bad An overlap, a refused write or a falling token is among them.
 * @property {number} level
 */

/** Pixels of a bin. */
const binWidth = 3;
/** A lane with more items in view than one in this many pixels is drawn as bins. */
const crowdedAt = 6;

/**
 * What of a lane is in view: each item, or, where there are more of them than pixels to tell them apart, bins.
 * @param {Lane} lane
 * @param {TimeView} view
 * @returns {{ items: Item[], bins: Bin[] }}
 */
export function visibleOf(lane, view) {
  const { items, longest } = lane;
  /** @type {Item[]} */
  const seen = [];
  for (let at = firstFrom(items, view.fromUs - longest); at < items.length; at++) {
    const item = items[at];
    if (item === undefined || item.from > view.toUs) break;
    if (item.to >= view.fromUs) seen.push(item);
  }
  if (seen.length <= Math.max(40, (view.width / crowdedAt) * lane.rows)) return { items: seen, bins: [] };
  // What is wide enough to be seen stays itself, and so does what a reader looks for.
  const wide = seen.filter(
    (item) => view.x(item.to) - view.x(item.from) >= 4 * binWidth || item.look === "overlap",
  );
  const kept = new Set(
    wide.length <= view.width / crowdedAt
      ? wide
      : wide.filter(({ look }) => look === "overlap").slice(0, 200),
  );
  const others = seen.filter((item) => !kept.has(item));
  return { items: [...kept], bins: binned(others, view, lane.group === "tokens") };
}

/**
 * Bins stand over all rows of a lane; those beside each other that look alike are one, for a browser draws few large
 * shapes faster than many small ones.
 * @param {Item[]} items
 * @param {TimeView} view
 * @param {boolean} points Points of a line keep their heights, so they are not put together.
 * @returns {Bin[]}
 */
function binned(items, view, points) {
  const step = (view.spanUs / view.width) * binWidth;
  const columns = Math.ceil(view.width / binWidth) + 1;
  /** @type {(Bin | undefined)[]} */
  const bins = new Array(columns + 1);
  for (const { from, to, look, clash, level } of items) {
    const first = Math.max(0, Math.floor((from - view.fromUs) / step));
    const last = Math.min(columns, Math.floor((to - view.fromUs) / step));
    const bad = clash || look === "overlap" || look === "rejected" || look === "fallen" || look === "lost";
    for (let column = first; column <= last; column++) {
      const start = view.fromUs + column * step;
      let bin = bins[column];
      if (bin === undefined) {
        bin = { from: start, to: start + step, count: 0, busy: 0, bad: false, level };
        bins[column] = bin;
      }
      bin.count += 1;
      bin.busy = Math.min(1, bin.busy + Math.max(0, Math.min(to, bin.to) - Math.max(from, start)) / step);
      bin.bad ||= bad;
      bin.level = Math.max(bin.level, level);
    }
  }
  /** @type {Bin[]} */
  const merged = [];
  for (const bin of bins) {
    if (bin === undefined) continue;
    const before = merged.at(-1);
    const alike = before !== undefined && before.bad === bin.bad && shadeOf(before) === shadeOf(bin);
    // A bin ends where the next begins, but for what arithmetic loses.
    if (!points && alike && bin.from - before.to < step / 2) {
      before.to = bin.to;
      before.count += bin.count;
    } else merged.push(bin);
  }
  return merged;
}

/**
 * How dark a bin is drawn, 1 to 4.
 * @param {Bin} bin
 */
export const shadeOf = ({ busy }) => Math.max(1, Math.ceil(busy * 4));

/**
 * The place of the first item that begins at `us` or later.
 * @param {Item[]} items
 * @param {number} us
 */
function firstFrom(items, us) {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.from ?? 0) < us) low = middle + 1;
    else high = middle;
  }
  return low;
}
