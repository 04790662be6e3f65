import type { Database, Statement } from "./database.js";
import { cut, type OpenRecord, ownerText, tokenText } from "./records.js";
import { type Level, storedLevel } from "./stretches.js";
import { rowOfTally, type Tally } from "./tally.js";

type Row = readonly unknown[];

/** While the file cannot be written, at most this many holds and this many new subjects wait. */
const mostWaiting = 50_000;

/** A statement takes many rows in one call, which needs a tenth as many calls. */
const each = (columns: number): string =>
  Array.from({ length: columns }, (_, at) => `value->>${at}`).join(", ");
const sql = {
  subjects: `INSERT INTO subject SELECT ${each(8)} FROM json_each(?)`,
  seen: `UPDATE subject SET hour = n.value->>1, grp = n.value->>2 FROM json_each(?) AS n WHERE subject.id = n.value->>0`,
  holds: `INSERT INTO hold SELECT ${each(11)} FROM json_each(?)`,
  reasons: `UPDATE hold SET reason = n.value->>1 FROM json_each(?) AS n WHERE hold.id = n.value->>0`,
  opened: `INSERT OR REPLACE INTO open_hold SELECT ${each(8)} FROM json_each(?)`,
  closed: `DELETE FROM open_hold WHERE (lock, entry) IN (SELECT ${each(2)} FROM json_each(?))`,
  counted: `INSERT OR REPLACE INTO stat SELECT ${each(14)} FROM json_each(?)`,
} as const;

/** The rows that are in memory and not in the file yet. */
export class Pending {
  readonly #db: Database;
  /**
   * Prepared once: a statement that is not used any more keeps its megabyte of rows until it is collected as garbage.
   */
  readonly #statements: Readonly<Record<keyof typeof sql, Statement>>;
  /** The rows of new subjects, as the table has them. */
  readonly subjects: Row[] = [];
  /** By id: id, hour and group. */
  readonly seen = new Map<number, Row>();
  /** The rows of ended holds, as the table has them. */
  readonly holds: Row[] = [];
  /** Pairs of id and reason. */
  readonly reasons: Row[] = [];
  /** By name: the row of an open hold to write, or the row to delete. */
  readonly #open = new Map<string, { readonly opened: Row } | { readonly closed: Row }>();
  readonly #counted: readonly [Map<number, Tally>, Map<number, Tally>] = [new Map(), new Map()];

  constructor(db: Database) {
    this.#db = db;
    const prepared = Object.entries(sql).map(([name, text]) => [name, db.prepare(text)] as const);
    this.#statements = Object.fromEntries(prepared) as Record<keyof typeof sql, Statement>;
  }

  get isFull(): boolean {
    return this.subjects.length >= mostWaiting || this.#open.size >= mostWaiting;
  }

  opened(lock: number, { name, address, owner, sinceMs, exact, waitedMs, granted }: OpenRecord): void {
    const row = [
      ...[lock, cut(address.entry), ownerText(owner), tokenText(owner), sinceMs, exact ? 1 : 0],
      ...[waitedMs, granted ? 1 : 0],
    ];
    this.#open.set(name, { opened: row });
  }

  closed(name: string, lock: number, entry: string): void {
    this.#open.set(name, { closed: [lock, cut(entry)] });
  }

  /** The hold ended before it was written. */
  neverOpened(name: string): void {
    this.#open.delete(name);
  }

  hasOpen(name: string): boolean {
    return this.#open.has(name);
  }

  counted(level: Level, subject: number, tally: Tally): void {
    this.#counted[level].set(subject, tally);
  }

  /** Forgets a stretch that has ended. What could not be written of it is lost. */
  forget(level: Level): void {
    this.#counted[level].clear();
  }

  /**
   * Writes one transaction of at most so many rows. Returns whether there is more. Throws if the file cannot be
   * written; then all of it still waits.
   */
  write(starts: readonly [number, number], rowsAtOnce: number): boolean {
    let room = rowsAtOnce;
    const take = <T>(from: Iterable<T>): T[] => {
      const taken: T[] = [];
      for (const one of from) {
        if (room === 0) break;
        room -= 1;
        taken.push(one);
      }
      return taken;
    };
    const subjects = take(this.subjects);
    const seen = take(this.seen.values());
    const holds = take(this.holds);
    const reasons = take(this.reasons);
    const open = take(this.#open);
    const counted = ([0, 1] as const).map((level) => take(this.#counted[level]));
    if (room === rowsAtOnce) return false;
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      this.#run("subjects", subjects);
      this.#run("seen", seen);
      this.#run("holds", holds);
      this.#run("reasons", reasons);
      this.#run(
        "closed",
        open.flatMap(([, one]) => ("closed" in one ? [one.closed] : [])),
      );
      this.#run(
        "opened",
        open.flatMap(([, one]) => ("opened" in one ? [one.opened] : [])),
      );
      for (const level of [0, 1] as const)
        this.#run(
          "counted",
          (counted[level] ?? []).map(([subject, tally]) => [
            ...[storedLevel(level, tally.kind), starts[level], subject],
            ...rowOfTally(tally),
          ]),
        );
      this.#db.exec("COMMIT");
    } catch (error) {
      rollBack(this.#db);
      throw error;
    }
    this.subjects.splice(0, subjects.length);
    for (const [id] of seen) this.seen.delete(id as number);
    this.holds.splice(0, holds.length);
    this.reasons.splice(0, reasons.length);
    for (const [name] of open) this.#open.delete(name);
    for (const level of [0, 1] as const)
      for (const [subject] of counted[level] ?? []) this.#counted[level].delete(subject);
    return room === 0;
  }

  /** Drops the oldest holds beyond what may wait, and returns how many they were. */
  shed(): number {
    const tooMany = Math.max(0, this.holds.length - mostWaiting);
    this.holds.splice(0, tooMany);
    this.reasons.splice(0, Math.max(0, this.reasons.length - mostWaiting));
    return tooMany;
  }

  #run(name: keyof typeof sql, rows: readonly Row[]): void {
    if (rows.length > 0) this.#statements[name].run(JSON.stringify(rows));
  }
}

/**
 * Ends a transaction in which a statement has failed; the caller throws that error. SQLite may have ended it already,
 * and says so by an error.
 */
function rollBack(db: Database): void {
  try {
    db.exec("ROLLBACK");
  } catch {}
}
