import { holdItem, item, lane, longestOf, mostRows, recordsOf, stretch } from "./items.js";
import { momentText, spanText } from "./time-view.js";
import { tokenLane } from "./token-lane.js";
import { workerLanes } from "./worker-lanes.js";

/** @import { TimelineData } from "../src/report/timeline/data.js" */
/** @import { Item, Lane } from "./items.js" */

/**
 * Every lane of the page, from the top. `key` leaves only what is about one key; -1 leaves all.
 * @param {TimelineData} data
 * @param {number} key
 * @returns {Lane[]}
 */
export function lanesOf(data, key = -1) {
  const clashing = clashingHolds(data);
  const lanes = [faultLane(data), ...serverLanes(data)];
  const about = data.keys.map((_, at) => at).filter((at) => key < 0 || at === key);
  for (const at of about) lanes.push(keyLane(data, at, clashing));
  for (const at of about) lanes.push(tokenLane(data, at));
  lanes.push(...workerLanes(data, key, clashing));
  return lanes.filter(({ group, items }) => items.length > 0 || group === "keys" || group === "workers");
}

/** @param {TimelineData} data */
function clashingHolds({ overlaps }) {
  /** @type {Set<number>} */
  const clashing = new Set();
  for (const [, first, second] of overlaps) clashing.add(first).add(second);
  return clashing;
}

/** @param {TimelineData} data */
function faultLane({ faults }) {
  const items = faults.map(({ name, target, fromUs, toUs, evident, record }, at) => {
    const where = target === "" ? "" : ` at ${target}`;
    const shown = evident ? "" : ", nothing shows that it happened";
    const title = `Fault ${name}${where}, ${stretch(fromUs, toUs)}${shown}`;
    return item(`f${at}`, fromUs, toUs, "fault", `${name}${where}`, title, [record]);
  });
  return lane("faults", "faults", "Faults", "", items, 4);
}

/** @param {TimelineData} data */
function serverLanes({ servers, faults, endUs }) {
  /** @type {Record<string, Item["look"]>} */
  const looks = { down: "down", paused: "paused", "cut off": "cut", troubled: "troubled" };
  return servers.map(({ name, stretches, roles }, server) => {
    const items = stretches.map(({ fromUs, toUs, state, fault }, at) => {
      const cause = faults[fault];
      const title = `${name} ${state}, ${stretch(fromUs, toUs)}${cause ? `, by ${cause.name}` : ""}`;
      return item(
        `s${server}.${at}`,
        fromUs,
        toUs,
        looks[state] ?? "troubled",
        state,
        title,
        cause ? [cause.record] : [],
      );
    });
    roles.forEach(({ atUs, role }, at) => {
      const until = roles[at + 1]?.atUs ?? endUs;
      items.push(
        item(
          `r${server}.${at}`,
          atUs,
          until,
          "role",
          role,
          `${name} is ${role}, known from ${momentText(atUs)}`,
          [],
        ),
      );
    });
    const roleRow = lane(`server ${name}`, "servers", name, roles.at(-1)?.role ?? "", items, 1);
    // What it is stands above what happens to it.
    for (const each of roleRow.items) each.row = roles.length > 0 && each.look !== "role" ? 1 : 0;
    roleRow.rows = roles.length > 0 ? 2 : 1;
    return roleRow;
  });
}

/**
 * @param {TimelineData} data
 * @param {number} key
 * @param {Set<number>} clashing
 */
function keyLane(data, key, clashing) {
  /** @type {Item[]} */
  const items = [];
  data.holds.forEach((row, at) => {
    if (row[1] === key) items.push(holdItem(data, at, "k", data.workers[row[0]] ?? "", clashing));
  });
  const about = data.keys[key];
  const keyLane = lane(`key ${about?.name}`, "keys", about?.name ?? "", about?.kind ?? "", items, mostRows);
  const overlaps = [];
  for (const [of, first, second, fromUs, toUs] of data.overlaps) {
    if (of !== key) continue;
    const names = [first, second].map((hold) => data.workers[data.holds[hold]?.[0] ?? -1] ?? "?");
    const title = `Overlap: ${names.join(" and ")} both hold ${about?.name}, ${stretch(fromUs, toUs)}`;
    const records = [first, second].flatMap((hold) => recordsOf(data, hold));
    overlaps.push(
      item(
        `o${first}.${second}`,
        fromUs,
        toUs,
        "overlap",
        `${names.join(" + ")}: ${spanText(toUs - fromUs)}`,
        title,
        records,
      ),
    );
  }
  if (overlaps.length > 0) {
    // Below the holds that it is about, in a row of its own.
    for (const each of overlaps) each.row = keyLane.rows;
    keyLane.rows += 1;
    keyLane.items = [...keyLane.items, ...overlaps].sort((a, b) => a.from - b.from);
    keyLane.longest = longestOf(keyLane.items);
  }
  return keyLane;
}
