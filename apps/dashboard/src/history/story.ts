import { spreadOf } from "./boards.js";
import type { Ledger } from "./ledger.js";
import {
  type EndReason,
  endReasons,
  type PastHold,
  type StoryAnswer,
  type StoryQuestion,
} from "./messages.js";
import { noOwner, ownerOfRow } from "./records.js";
import { levelMs, stretchesOf } from "./stretches.js";

const shortRangeMs = 2 * levelMs[1];
/**
 * The most holds that are read of those that began in the range and ended after it. A semaphore may have many of them.
 */
const mostOverlapping = 50;
const mostOpen = 100;

/** What happened to one lock in a range of time: its holds, newest end first, and the counts by stretches. */
export function storyOf(ledger: Ledger, question: StoryQuestion): StoryAnswer {
  const { cluster, key, fromMs, toMs, limit, after } = question;
  const { db } = ledger;
  const lock = ledger.subjects.find("lock", cluster, key);
  if (lock === null) return { firstSeenMs: null, open: [], holds: [], next: null, steps: [] };
  const open = ledger.open.ofLock(lock.id, { cluster, key }, toMs, mostOpen);
  const columns = "id, entry, owner, token, since_ms, exact, waited_ms, end_ms, reason, held_ms";
  const later =
    after === null
      ? db
          .prepare(`SELECT ${columns} FROM hold WHERE lock = ? AND end_ms >= ? ORDER BY end_ms, id LIMIT ?`)
          .all(lock.id, toMs, mostOverlapping)
          .filter(({ since_ms }) => since_ms !== null && Number(since_ms) < toMs)
          .reverse()
      : [];
  const [endMs, id] = after ?? [toMs, -1];
  const rows = db
    .prepare(
      `SELECT ${columns} FROM hold WHERE lock = ? AND end_ms >= ? AND (end_ms, id) < (?, ?) ORDER BY end_ms DESC, id DESC LIMIT ?`,
    )
    .all(lock.id, fromMs, endMs, id, limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const level = toMs - fromMs <= shortRangeMs ? 0 : 1;
  const first = db.prepare("SELECT first_ms FROM subject WHERE id = ?").get(lock.id);
  return {
    firstSeenMs: first === undefined ? null : Number(first.first_ms),
    open,
    holds: [...later, ...page].map(holdOf),
    next: rows.length > limit && last !== undefined ? [Number(last.end_ms), Number(last.id)] : null,
    steps: stretchesOf(db, level, "lock", lock.id, fromMs, toMs).map(({ startMs, tally }) => ({
      fromMs: startMs,
      toMs: startMs + levelMs[level],
      grants: tally.grants,
      ends: tally.ends,
      lost: tally.lost,
      holdMs: spreadOf(tally.holds, tally.holdMaxMs),
      waitMs: spreadOf(tally.waitTimes, tally.waitMaxMs),
      waiting: tally.loadMs / levelMs[level],
    })),
  };
}

function holdOf(row: Readonly<Record<string, unknown>>): PastHold {
  const number = (value: unknown): number | null => (value === null ? null : Number(value));
  return {
    entry: String(row.entry),
    owner: ownerOfRow(row) ?? noOwner,
    sinceMs: number(row.since_ms),
    exact: row.exact === 1,
    waitedMs: number(row.waited_ms),
    endMs: Number(row.end_ms),
    reason: (endReasons[Number(row.reason)] ?? "unknown") satisfies EndReason,
    heldMs: number(row.held_ms),
  };
}
