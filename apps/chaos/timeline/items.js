import { momentText, spanText } from "./time-view.js";

/** @import { TimelineData } from "../src/report/timeline/data.js" */

/**
 * Something that can be drawn and clicked. A point has equal ends.
 * @typedef {object} Item
 * @property {string} id
 * @property {number} from
 * @property {number} to
 * @property {"hold" | "read" | "wait" | "refused" | "paused" | "dead" | "ended" | "lost" | "overlap" | "fault" | "down" | "cut" | "troubled" | "role" | "token" | "fallen" | "rejected"} look
 * @property {string} label Drawn when there is room.
 * @property {string} title Everything, in words.
 * @property {number[]} records
 * @property {number} row
 * @property {boolean} clash One of two that should not have been together.
 * @property {number} level From 0 at the bottom to 1; for points of a line.
 */

/**
 * @typedef {object} Lane
 * @property {string} id
 * @property {"faults" | "servers" | "keys" | "tokens" | "workers"} group
 * @property {string} name
 * @property {string} note
 * @property {number} rows
 * @property {Item[]} items In the order of their beginnings.
 * @property {number} longest The longest item: how far back a search must begin.
 */

/** More things at once than these rows share the last. */
export const mostRows = 6;

/**
 * @param {TimelineData} data
 * @param {number} at
 * @param {string} prefix
 * @param {string} label
 * @param {Set<number>} clashing
 */
export function holdItem(data, at, prefix, label, clashing) {
  const row = data.holds[at];
  if (row === undefined) throw new RangeError(`no hold ${at}`);
  const [worker, key, , from, until, cause, reads, token, name] = row;
  const to = until < 0 ? data.endUs : until;
  const clash = clashing.has(at);
  const title = [
    `${data.workers[worker]} holds ${data.keys[key]?.name}${reads ? " for reading" : ""}`,
    stretch(from, to),
    until < 0 ? "never ended" : `ended by ${data.causes[cause]}`,
    ...(token === "" ? [] : [`token ${token}`]),
    `named ${name}`,
    ...(clash ? ["overlaps another"] : []),
  ].join(", ");
  const text = prefix === "k" && token !== "" ? `${label} · ${token}` : label;
  const hold = item(`${prefix}${at}`, from, to, reads ? "read" : "hold", text, title, recordsOf(data, at));
  hold.clash = clash;
  return hold;
}

/**
 * @param {TimelineData} data
 * @param {number} hold
 */
export function recordsOf(data, hold) {
  const row = data.holds[hold];
  return row === undefined ? [] : [row[9], row[10], row[11]].filter((i) => i >= 0);
}

/**
 * @param {number} from
 * @param {number} to
 */
export const stretch = (from, to) => `${momentText(from)} to ${momentText(to)} (${spanText(to - from)})`;

/**
 * @param {string} id
 * @param {number} from
 * @param {number} to
 * @param {Item["look"]} look
 * @param {string} label
 * @param {string} title
 * @param {number[]} records
 * @returns {Item}
 */
export const item = (id, from, to, look, label, title, records) => ({
  id,
  from,
  to: Math.max(from, to),
  look,
  label,
  title,
  records,
  row: 0,
  clash: false,
  level: 0,
});

/**
 * Puts items that are on at the same time into rows below each other; what finds no row shares the last.
 * @param {string} id
 * @param {Lane["group"]} group
 * @param {string} name
 * @param {string} note
 * @param {Item[]} items
 * @param {number} most
 * @returns {Lane}
 */
export function lane(id, group, name, note, items, most) {
  items.sort((a, b) => a.from - b.from || a.to - b.to);
  /** @type {number[]} */
  const ends = [];
  for (const each of items) {
    if (each.look === "lost") continue;
    let row = ends.findIndex((end) => end <= each.from);
    if (row < 0) row = ends.length < most ? ends.length : most - 1;
    each.row = row;
    ends[row] = Math.max(ends[row] ?? 0, each.to);
  }
  return { id, group, name, note, rows: Math.max(1, ends.length), items, longest: longestOf(items) };
}

/** @param {Item[]} items */
export function longestOf(items) {
  let longest = 0;
  for (const { from, to } of items) longest = Math.max(longest, to - from);
  return longest;
}
