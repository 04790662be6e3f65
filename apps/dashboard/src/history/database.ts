import { chmodSync, closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { createRequire } from "node:module";

/** The part of the package `libsql` that is used. The package contains SQLite, built for a number of platforms. */
export interface Database {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
}

export interface Statement {
  run(...values: readonly unknown[]): { readonly changes: number };
  get(...values: readonly unknown[]): Readonly<Record<string, unknown>> | undefined;
  all(...values: readonly unknown[]): Readonly<Record<string, unknown>>[];
  /** Read it to its end: a statement that stops in the middle keeps the log from being written back. */
  iterate(...values: readonly unknown[]): Iterable<Readonly<Record<string, unknown>>>;
}

/** Why a file is refused, in a sentence for people that names the file. */
export class RefusedFileError extends Error {
  override readonly name: string = "RefusedFileError";
}

const pageBytes = 4_096;
/** What a page takes in the log that is written first (WAL). */
const frameBytes = pageBytes + 24;
/** "hfLH", so that the file of another program is not taken for a history. */
const applicationId = 0x68664c48;
/** The bytes that a database begins with, and the place of the number of its program. */
const magic = "SQLite format 3\0";
const applicationIdAt = 68;
const schemaVersion = 1;
/** How many distinct pages one row may touch, with its indexes. */
const pagesPerRow = 3;
const mostPerTransaction = 4_000;

const schema = `
CREATE TABLE subject(
  id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, cluster TEXT NOT NULL, name TEXT NOT NULL, backend TEXT,
  grp INTEGER, first_ms INTEGER NOT NULL, hour INTEGER NOT NULL, UNIQUE(kind, cluster, name));
CREATE INDEX subject_hour ON subject(hour);
CREATE TABLE hold(
  id INTEGER PRIMARY KEY, lock INTEGER NOT NULL, entry TEXT NOT NULL, owner TEXT, token TEXT, since_ms INTEGER, exact INTEGER,
  waited_ms INTEGER, end_ms INTEGER NOT NULL, reason INTEGER NOT NULL, held_ms INTEGER);
CREATE INDEX hold_lock ON hold(lock, end_ms, id);
CREATE TABLE open_hold(
  lock INTEGER NOT NULL, entry TEXT NOT NULL, owner TEXT, token TEXT, since_ms INTEGER NOT NULL, exact INTEGER NOT NULL,
  waited_ms INTEGER, granted INTEGER NOT NULL, PRIMARY KEY(lock, entry)) WITHOUT ROWID;
CREATE TABLE stat(
  level INTEGER NOT NULL, start INTEGER NOT NULL, subject INTEGER NOT NULL, grants INTEGER, ends INTEGER, lost INTEGER, held INTEGER,
  hold_max INTEGER, waits INTEGER, waited INTEGER, wait_max INTEGER, load INTEGER, holds TEXT, wait_times TEXT,
  PRIMARY KEY(level, start, subject)) WITHOUT ROWID;
`;

/** A history that only this process has open. */
export interface OpenedDatabase {
  readonly db: Database;
  /** The most bytes that the database and its log take together. */
  readonly maxBytes: number;
  /** The most pages that the database may have, so that there is room for the log. */
  readonly mostPages: number;
  /** How many rows go into one transaction, so that the log has room for the pages that they touch. */
  readonly rowsAtOnce: number;
}

/** Checks what can be checked without opening or making the file. @throws RefusedFileError */
export function checkDatabase(file: string): void {
  loadLibSql();
  if (!existsSync(file)) return;
  const handle = openSync(file, "r");
  try {
    checkHead(file, handle);
  } finally {
    closeSync(handle);
  }
}

/** @throws RefusedFileError */
export function openDatabase(file: string, maxBytes: number): OpenedDatabase {
  const LibSql = loadLibSql();
  const isNew = prepareFile(file);
  let db: Database | undefined;
  try {
    db = new LibSql(file);
    // The check of the head looks for this number in the file itself. So it is there from the first page on, and not
    // only in the log.
    if (isNew)
      db.exec(
        `PRAGMA page_size=${pageBytes}; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA application_id=${applicationId}`,
      );
    // Only one process may open the file. Then there is no third file beside the database, and a second process is
    // refused at once.
    db.exec("PRAGMA locking_mode=EXCLUSIVE");
    db.prepare("PRAGMA journal_mode=WAL").all();
    prepareSchema(db, file);
    return withLimits(db, maxBytes);
  } catch (error) {
    if (db !== undefined) closeDatabase(db);
    throw error instanceof RefusedFileError ? error : new RefusedFileError(wordsFor(file, error));
  }
}

/**
 * Writes the log back and gives the file up. The package keeps a file open until all its statements have been collected
 * as garbage. So the lock is released by leaving the modes that hold it.
 */
export function closeDatabase(db: Database): void {
  try {
    db.prepare("PRAGMA journal_mode=DELETE").all();
    db.prepare("PRAGMA locking_mode=NORMAL").all();
    db.prepare("SELECT count(*) FROM sqlite_master").all();
  } catch {
    // What was written is in the log, and the next process that opens the file reads the log.
  }
  db.close();
}

/** All pages of the file that are in use. */
export function usedPages(db: Database): number {
  return numberOf(db, "PRAGMA page_count") - numberOf(db, "PRAGMA freelist_count");
}

/** How many bytes the database and its log take now. */
export function bytesOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, each) => sum + (existsSync(each) ? statSync(each).size : 0), 0);
}

export function numberOf(db: Database, sql: string): number {
  const [value] = Object.values(db.prepare(sql).get() ?? {});
  return Number(value ?? 0);
}

/** What SQLite said about a failed write, in words for people. */
export function failureWords(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  if (code === "SQLITE_FULL") return "there is no room: the disk is full";
  if (code?.startsWith("SQLITE_IOERR") === true) return "the disk cannot be written or read";
  if (code === "SQLITE_READONLY") return "the file can only be read";
  if (code === "SQLITE_CORRUPT") return "the file is damaged: move it away and start the dashboard again";
  return message ?? String(error);
}

/** Makes the file accessible to its owner alone, from its first byte on. Returns whether it is empty. */
function prepareFile(file: string): boolean {
  try {
    const handle = openSync(file, "a+", 0o600);
    try {
      const isEmpty = checkHead(file, handle);
      chmodSync(file, 0o600);
      return isEmpty;
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    if (error instanceof RefusedFileError) throw error;
    throw new RefusedFileError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}

/**
 * Returns whether the file is empty. Another program's database is recognised here, because SQLite may change a file by
 * opening and closing it.
 */
function checkHead(file: string, handle: number): boolean {
  const head = Buffer.alloc(applicationIdAt + 4);
  const read = readSync(handle, head, 0, head.length, 0);
  if (read === 0) return true;
  if (head.toString("latin1", 0, magic.length) !== magic)
    throw new RefusedFileError(`${file} is no history: it is a file of something else`);
  const program = head.readUInt32BE(applicationIdAt);
  if (program === applicationId) return false;
  const why = `${file} is no history: it is a database of another program`;
  // Earlier builds had the number only in the log until they wrote that back. Without it nothing shows whose database
  // it is.
  throw new RefusedFileError(
    program === 0 && existsSync(`${file}-wal`)
      ? `${why}, or of an earlier build of the dashboard that was killed before it had written ${file}-wal back; name another file, or let that build open it and end in order once`
      : `${why}; name another file`,
  );
}

function prepareSchema(db: Database, file: string): void {
  const version = numberOf(db, "PRAGMA user_version");
  if (version > schemaVersion)
    throw new RefusedFileError(
      `${file} was written by a newer dashboard (schema ${version}, this one knows ${schemaVersion}): use that one, or another file`,
    );
  if (version === 0) db.exec(`BEGIN; ${schema} PRAGMA user_version=${schemaVersion}; COMMIT`);
}

/**
 * A quarter is for the log: it is written back when half of that is used, and one transaction may take the other half.
 */
function withLimits(db: Database, maxBytes: number): OpenedDatabase {
  const logPages = Math.floor(maxBytes / 4 / frameBytes);
  const mostPages = Math.floor((maxBytes - logPages * frameBytes) / pageBytes) - 1;
  const half = Math.floor(logPages / 2);
  db.exec(`PRAGMA wal_autocheckpoint=${half}; PRAGMA max_page_count=${mostPages}`);
  // When a transaction ends, the system has what was written: the end of the process loses none of it.
  db.exec("PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4096");
  const rowsAtOnce = Math.min(mostPerTransaction, Math.max(1, Math.floor(half / pagesPerRow)));
  return { db, maxBytes, mostPages, rowsAtOnce };
}

function loadLibSql(): new (file: string) => Database {
  try {
    return createRequire(import.meta.url)("libsql");
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message?: string };
    const why = code === "MODULE_NOT_FOUND" ? "it is not installed" : message;
    throw new RefusedFileError(
      `history takes the package libsql with its binary for ${process.platform} ${process.arch}: ${why}; install it (npm install libsql), or leave history out of the configuration`,
    );
  }
}

function wordsFor(file: string, error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  if (code === "SQLITE_BUSY")
    return `${file} is in use by another dashboard: give each one a file of its own`;
  if (code === "SQLITE_NOTADB") return `${file} is no history: it is a file of something else, or damaged`;
  return `${file} cannot be opened: ${code === undefined ? message : failureWords(error)}`;
}
