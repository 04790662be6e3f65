import { holdItem, item, lane, mostRows, stretch } from "./items.js";
import { momentText } from "./time-view.js";

/** @import { TimelineData } from "../src/report/timeline/data.js" */
/** @import { Item } from "./items.js" */

/**
 * @param {TimelineData} data
 * @param {number} key
 * @param {Set<number>} clashing
 */
export function workerLanes(data, key, clashing) {
  /** @type {Map<string, Item[]>} */
  const lanes = new Map();
  // Incarnations of one worker share its lane.
  const names = data.workers.map((name) => name.split("#")[0] ?? name);
  for (const name of names) lanes.set(name, []);
  /** @param {number} worker */
  const of = (worker) => lanes.get(names[worker] ?? "") ?? [];
  data.holds.forEach((row, at) => {
    if (key >= 0 && row[1] !== key) return;
    const [worker, , asked, from] = row;
    of(worker).push(holdItem(data, at, "w", data.keys[row[1]]?.name ?? "", clashing));
    const title = `${data.workers[worker]} waited for ${data.keys[row[1]]?.name}, ${stretch(asked, from)}, granted`;
    if (from > asked)
      of(worker).push(
        item(
          `q${at}`,
          asked,
          from,
          "wait",
          "",
          title,
          [row[9], row[10]].filter((i) => i >= 0),
        ),
      );
  });
  data.waits.forEach(([worker, k, from, until, outcome, invoke, end], at) => {
    if (key >= 0 && k !== key) return;
    const to = until < 0 ? data.endUs : until;
    const how = { fail: "got nothing", info: "end unknown", open: "no end" }[outcome];
    const title = `${data.workers[worker]} waited for ${data.keys[k]?.name}, ${stretch(from, to)}, ${how}`;
    of(worker).push(
      item(
        `n${at}`,
        from,
        to,
        "refused",
        how,
        title,
        [invoke, end].filter((i) => i >= 0),
      ),
    );
  });
  data.halts.forEach(([worker, from, until, state, begin, end], at) => {
    const to = until < 0 ? data.endUs : until;
    const title = `${data.workers[worker]} ${state}, ${stretch(from, to)}`;
    of(worker).push(
      item(
        `h${at}`,
        from,
        to,
        state,
        state,
        title,
        [begin, end].filter((i) => i >= 0),
      ),
    );
  });
  data.events.forEach(([worker, k, atUs, name, hold, record], at) => {
    if (name !== "lost" || (key >= 0 && k !== key)) return;
    const title = `${data.workers[worker]} was told at ${momentText(atUs)} that it lost ${hold} of ${data.keys[k]?.name}`;
    of(worker).push(item(`l${at}`, atUs, atUs, "lost", "lost", title, [record]));
  });
  return [...lanes].map(([name, items]) => lane(`worker ${name}`, "workers", name, "", items, mostRows));
}
