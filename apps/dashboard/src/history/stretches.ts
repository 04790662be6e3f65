import type { Database } from "./database.js";
import { type SubjectKind, subjectKinds } from "./messages.js";
import { type Tally, type TallyRow, tallyOfRow } from "./tally.js";

// Everything is counted in stretches of two lengths at the same time: short ones for the last hour, and hours for all
// else.

export type Level = 0 | 1;

/** The length of a stretch, by level. */
export const levelMs: readonly [number, number] = [600_000, 3_600_000];
export const hourMs: number = levelMs[1];

/** Hours of groups are stored apart from those of locks and owners, and are kept for longest. */
export function storedLevel(level: Level, kind: SubjectKind): number {
  return level === 1 && kind === "group" ? 2 : level;
}

const columns = "grants, ends, lost, held, hold_max, waits, waited, wait_max, load, holds, wait_times";

export interface ReadTallies {
  readonly tallies: readonly (readonly [subject: number, tally: Tally])[];
  /** Where to continue; `null` if everything was read. */
  readonly next: readonly [level: number, start: number, subject: number] | null;
}

/** The tallies of the stretches that begin at `fromMs` or later and before `untilMs`, at most `limit` in one call. */
export function readTallies(
  db: Database,
  level: Level,
  fromMs: number,
  untilMs: number,
  limit: number,
  after: ReadTallies["next"] = null,
): ReadTallies {
  const last = level === 1 ? 2 : level;
  const [atLevel, start, subject] = after ?? [level, fromMs, -1];
  const rows = db
    .prepare(
      `SELECT t.level, t.start, t.subject, s.kind, s.cluster, s.grp, ${columns} FROM stat t JOIN subject s ON s.id = t.subject
       WHERE t.level = ? AND t.start < ? AND (t.start, t.subject) > (?, ?) ORDER BY t.start, t.subject LIMIT ?`,
    )
    .all(atLevel, untilMs, start, subject, limit);
  const tallies = rows.map((row) => [Number(row.subject), tallyOf(row)] as const);
  const end = rows.at(-1);
  if (rows.length === limit && end !== undefined)
    return { tallies, next: [atLevel, Number(end.start), Number(end.subject)] };
  return { tallies, next: atLevel < last ? [atLevel + 1, fromMs, -1] : null };
}

export function tallyOf(row: Readonly<Record<string, unknown>>): Tally {
  const figures = columns.split(", ").map((column) => row[column]) as unknown as TallyRow;
  return tallyOfRow(
    {
      kind: subjectKinds[Number(row.kind)] ?? "lock",
      cluster: String(row.cluster),
      group: row.grp === null ? null : Number(row.grp),
    },
    figures,
  );
}

/** The hours of a month and a day. No more are kept, and a lookup for each hour of many years would take seconds. */
const mostStretches = 31 * 24;

/** The stretches of one subject in which something was counted, oldest first. */
export function stretchesOf(
  db: Database,
  level: Level,
  kind: SubjectKind,
  subject: number,
  fromMs: number,
  toMs: number,
): readonly { readonly startMs: number; readonly tally: Tally }[] {
  const one = db.prepare(`SELECT ${columns} FROM stat WHERE level = ? AND start = ? AND subject = ?`);
  const found: { startMs: number; tally: Tally }[] = [];
  const length = levelMs[level];
  const firstMs = Math.max(fromMs, toMs - mostStretches * length);
  for (let startMs = firstMs - (firstMs % length); startMs < toMs; startMs += length) {
    const row = one.get(storedLevel(level, kind), startMs, subject);
    if (row !== undefined)
      found.push({
        startMs,
        tally: tallyOf({ ...row, kind: subjectKinds.indexOf(kind), cluster: "", grp: null }),
      });
  }
  return found;
}
