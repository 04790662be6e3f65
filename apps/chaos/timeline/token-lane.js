import { item, lane, recordsOf } from "./items.js";
import { momentText } from "./time-view.js";

/** @import { HoldRow, TimelineData } from "../src/report/timeline/data.js" */

/**
 * Tokens over time: each grant at its height, a falling one and a refused write marked.
 * @param {TimelineData} data
 * @param {number} key
 */
export function tokenLane(data, key) {
  const about = data.keys[key];
  const grants = data.holds
    .map((row, at) => ({ at, row, token: row[7] }))
    .filter(({ row, token }) => row[1] === key && token !== "")
    .sort((a, b) => a.row[3] - b.row[3]);
  const refused = data.effects.filter(
    ([of, , accepted, token]) => of === key && accepted === 0 && token !== "",
  );
  const level = levels([...grants.map(({ token }) => token), ...refused.map(([, , , token]) => token)]);
  const fallen = about?.kind === "semaphore" ? new Set() : fallenGrants(grants.map(({ row }) => row));
  const items = grants.map(({ at, row, token }) => {
    const falls = fallen.has(row);
    const title = `Token ${token} granted to ${data.workers[row[0]]} at ${momentText(row[3])}${falls ? ", below one that was granted before it was asked for" : ""}`;
    const look = falls ? "fallen" : "token";
    const point = item(`t${at}`, row[3], row[3], look, token, title, recordsOf(data, at));
    point.level = level(token);
    return point;
  });
  refused.forEach(([, atUs, , token, hold, record], at) => {
    const title = `Write of ${hold} with token ${token} refused at ${momentText(atUs)}`;
    const point = item(`e${at}`, atUs, atUs, "rejected", token, title, [record]);
    point.level = level(token);
    items.push(point);
  });
  const name = about?.name ?? "";
  return lane(`tokens ${name}`, "tokens", name, "tokens", items, 1);
}

/**
 * The height of a token between the lowest and the highest of all, 0 to 1.
 * @param {string[]} tokens
 */
function levels(tokens) {
  const all = tokens.map(BigInt);
  let [low, high] = [all[0] ?? 0n, all[0] ?? 0n];
  for (const token of all) {
    if (token < low) low = token;
    if (token > high) high = token;
  }
  /** @param {string} token */
  return (token) => (high === low ? 0.5 : Number(((BigInt(token) - low) * 10_000n) / (high - low)) / 10_000);
}

/**
 * Grants that were asked for when a higher token had been granted already. Readers among themselves may have theirs in any
 * order, and of two that were asked for at the same time either may be the higher: only real time convicts.
 * @param {readonly HoldRow[]} byReturn
 * @returns {Set<HoldRow>}
 */
function fallenGrants(byReturn) {
  const fallen = new Set();
  let [write, read] = [-1n, -1n];
  let returned = 0;
  for (const row of [...byReturn].sort((a, b) => a[2] - b[2])) {
    const [, , asked, , , , reads, token] = row;
    for (let next = byReturn[returned]; next !== undefined && next[3] < asked; next = byReturn[++returned]) {
      const before = BigInt(next[7]);
      if (next[6] === 0 && before > write) write = before;
      if (next[6] === 1 && before > read) read = before;
    }
    if (BigInt(token) < write || (reads === 0 && BigInt(token) < read)) fallen.add(row);
  }
  return fallen;
}
