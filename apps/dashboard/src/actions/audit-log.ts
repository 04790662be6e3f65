import { type FileHandle, open } from "node:fs/promises";
import { Check } from "typebox/value";
import type { Audit, AuditRow } from "../contract/api.js";
import { AuditRowSchema } from "../contract/parts.js";

const mostRows = 1_000;
/** Of dry runs and refusals: one caller can make many of them. */
const mostMinorRows = 1_000;
const mostRefusalsAMinute = 60;
/** Of the file, at the start. More than an hour of refusals at their limit takes, which must not hide what was done. */
const tailBytes = 8_388_608;

export interface AuditOptions {
  /** JSON lines, appended. `undefined`: memory alone. */
  readonly file?: string;
  /** Told of each row when it is complete. */
  readonly onRow?: (row: AuditRow) => void;
}

/**
 * Who did what. One line when something begins and one more, with the same id, when it has ended: a process that dies between leaves
 * `begun`, of which nobody knows whether it happened.
 */
export class AuditLog {
  readonly #file: FileHandle | undefined;
  readonly #onRow: ((row: AuditRow) => void) | undefined;
  /** In the order in which they began. */
  readonly #rows: Map<string, AuditRow> = new Map();
  #refusals = { sinceMs: 0, count: 0 };
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle | undefined, onRow: AuditOptions["onRow"]) {
    this.#file = file;
    this.#onRow = onRow;
  }

  /** Fails where the file cannot be written: better at the start than in the night in which it is needed. */
  static async open(options: AuditOptions): Promise<AuditLog> {
    const file = options.file === undefined ? undefined : await open(options.file, "a+", 0o600);
    const log = new AuditLog(file, options.onRow);
    if (file !== undefined) for (const row of await lastRows(file)) log.#remember(row);
    return log;
  }

  /** Resolves when it is written; what follows may then be done. */
  async begin(row: AuditRow): Promise<void> {
    await this.#write({ ...row, outcome: "begun" });
  }

  /** In memory at once; rejects where the line could not be written. */
  async end(row: AuditRow): Promise<void> {
    this.#onRow?.(row);
    await this.#write(row);
  }

  /** Of a refusal before anything was looked at. Beyond 60 in a minute there is no line; the result says whether there is one. */
  async refused(row: AuditRow): Promise<boolean> {
    if (row.atMs - this.#refusals.sinceMs >= 60_000) this.#refusals = { sinceMs: row.atMs, count: 0 };
    this.#refusals.count += 1;
    if (this.#refusals.count > mostRefusalsAMinute) return false;
    await this.end(row);
    return true;
  }

  /** Those that are kept, newest first. */
  all(): AuditRow[] {
    return [...this.#rows.values()].toReversed();
  }

  page(limit: number, after?: string): Audit {
    const newest = this.all();
    const from = after === undefined ? 0 : newest.findIndex(({ id }) => id === after) + 1;
    const rows = newest.slice(from, from + limit);
    return { rows, next: from + limit < newest.length ? (rows.at(-1)?.id ?? null) : null };
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file?.close();
  }

  #write(row: AuditRow): Promise<void> {
    this.#remember(row);
    const file = this.#file;
    if (file === undefined) return Promise.resolve();
    const written = this.#writing.then(async () => {
      await file.appendFile(`${JSON.stringify(row)}\n`);
    });
    // The next line is tried whether or not this one went through; the caller of this one gets its error.
    this.#writing = written.catch(() => {});
    return written;
  }

  #remember(row: AuditRow): void {
    this.#rows.set(row.id, row);
    const minor = isMinor(row);
    const alike = [...this.#rows.values()].filter((each) => isMinor(each) === minor);
    const [oldest] = alike;
    if (alike.length > (minor ? mostMinorRows : mostRows) && oldest !== undefined)
      this.#rows.delete(oldest.id);
  }
}

/** Dry runs and refusals, which never push out what was done. */
function isMinor({ dryRun, outcome }: AuditRow): boolean {
  return dryRun || outcome === "denied";
}

async function lastRows(file: FileHandle): Promise<AuditRow[]> {
  const { size } = await file.stat();
  const from = Math.max(0, size - tailBytes);
  const bytes = Buffer.alloc(size - from);
  await file.read(bytes, 0, bytes.length, from);
  return bytes
    .toString("utf8")
    .split("\n")
    .flatMap((line) => {
      const row = parsed(line);
      return Check(AuditRowSchema, row) ? [row] : [];
    });
}

/** The first line of the tail is likely half of one, and a full disk leaves half a line too. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
