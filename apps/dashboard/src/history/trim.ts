import { numberOf, type OpenedDatabase, usedPages } from "./database.js";
import { hourMs, levelMs } from "./stretches.js";

const monthMs = 30 * 24 * hourMs;
/** How long the short stretches are kept. The last hour and the history of two hours are made of them. */
const shortKeptMs = 16 * levelMs[0];
/** The share of the room above which old rows are deleted. The rest takes what is written until the next time. */
const full = 0.9;
/** The share of the room that holds may have. Beyond it, holds are deleted first. */
const holdsShare = 0.5;
/** About how many bytes a hold takes with its index. */
const holdBytes = 200;

const oldestHolds = "DELETE FROM hold WHERE id IN (SELECT id FROM hold ORDER BY id LIMIT ?)";
/**
 * Deletes holds that ended before the second parameter. A hold that ended in the future, as the clock was ahead, is as old as
 * those behind it: it goes with them, and not by itself, because a clock that is behind now makes all holds seem such.
 */
const outdatedHolds = `DELETE FROM hold WHERE id IN (SELECT id FROM hold ORDER BY id LIMIT ?1)
  AND (end_ms < ?2 OR end_ms > ?3 AND id <
    (SELECT max(id) FROM (SELECT id, end_ms FROM hold ORDER BY id LIMIT ?1) WHERE end_ms < ?2))`;
const oldestStretches = `DELETE FROM stat WHERE (level, start, subject) IN
  (SELECT level, start, subject FROM stat WHERE level = ? AND start < ? ORDER BY start, subject LIMIT ?)`;
/** Deletes subjects of which nothing else is kept and that have no open hold. */
const goneSubjects = `DELETE FROM subject WHERE id IN
  (SELECT id FROM subject WHERE hour < ? AND NOT EXISTS (SELECT 1 FROM open_hold WHERE lock = subject.id) ORDER BY hour LIMIT ?)`;

/**
 * Deletes some rows that are too old, or the oldest rows if there is no room. Returns what it deleted; `null` if there
 * is nothing to do.
 */
export function trimStep(opened: OpenedDatabase, nowMs: number): "rows" | "subjects" | null {
  const { db, mostPages, rowsAtOnce, maxBytes } = opened;
  const run = (sql: string, ...values: readonly unknown[]): boolean =>
    db.prepare(sql).run(...values).changes > 0;
  const firstOf = (level: number): number =>
    numberOf(db, `SELECT min(start) FROM stat WHERE level = ${level}`) || Number.POSITIVE_INFINITY;
  const stretches = (level: number, beforeMs: number): boolean =>
    firstOf(level) < beforeMs && run(oldestStretches, level, beforeMs, rowsAtOnce);
  const runningHour = nowMs - (nowMs % hourMs);
  if (stretches(0, nowMs - shortKeptMs) || stretches(1, nowMs - monthMs) || stretches(2, nowMs - monthMs))
    return "rows";
  const oldestHoldMs = numberOf(db, "SELECT end_ms FROM hold ORDER BY id LIMIT 1");
  const maybeOld = oldestHoldMs !== 0 && (oldestHoldMs < nowMs - monthMs || oldestHoldMs > nowMs);
  if (maybeOld && run(outdatedHolds, rowsAtOnce, nowMs - monthMs, nowMs)) return "rows";
  // A name is deleted after the last of its rows.
  if (run(goneSubjects, nowMs - monthMs, rowsAtOnce)) return "subjects";
  if (usedPages(db) <= full * mostPages) {
    // A file that was allowed to be larger gives back what it does not need now.
    if (numberOf(db, "PRAGMA page_count") > mostPages) {
      db.prepare(`PRAGMA incremental_vacuum(${rowsAtOnce})`).all();
      db.exec(`PRAGMA max_page_count=${mostPages}`);
      return numberOf(db, "PRAGMA freelist_count") > 0 ? "rows" : null;
    }
    return null;
  }
  // The ids of holds have gaps only at the front, so the first and the last id give their number. Each is found without
  // reading the rest.
  const holds = numberOf(db, "SELECT (SELECT max(id) FROM hold) - (SELECT min(id) FROM hold) + 1");
  if (holds * holdBytes > holdsShare * maxBytes && run(oldestHolds, rowsAtOnce)) return "rows";
  const floorMs = Math.min(
    ...[0, 1, 2].map(firstOf),
    oldestHoldMs === 0 ? runningHour : oldestHoldMs - (oldestHoldMs % hourMs),
  );
  if (run(goneSubjects, floorMs, rowsAtOnce)) return "subjects";
  return stretches(1, runningHour) ||
    run(oldestHolds, rowsAtOnce) ||
    stretches(0, nowMs - (nowMs % levelMs[0])) ||
    stretches(2, runningHour)
    ? "rows"
    : null;
}
