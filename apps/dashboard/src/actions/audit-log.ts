import { type FileHandle, open } from "node:fs/promises";
import { Check } from "typebox/value";
import type { Audit, AuditRow } from "../contract/api.js";
import { AuditRowSchema } from "../contract/parts.js";
import { badRequest } from "../core/problems.js";
import { MinuteLimit } from "./minute-limit.js";

const mostRows = 1_000;
/**
 * How many dry runs and refusals are kept. They have a limit of their own, because one caller can make many of them.
 */
const mostMinorRows = 1_000;
const mostRefusalsAMinute = 60;
/**
 * At the start the file is read in pieces of this size, from its end, until as many lines as are kept have been found.
 * Refusals have a limit of their own, so that they do not hide what was done.
 */
const pieceBytes = 4_194_304;
/** Enough for the refusals of two days, at their longest and at their limit. */
const mostTailBytes = 268_435_456;

export interface AuditOptions {
  /** JSON lines, appended. `undefined`: the log is kept only in memory. */
  readonly file?: string;
  /** Called with each row when it is complete. */
  readonly onRow?: (row: AuditRow) => void;
}

/**
 * The log of who did what. It has one line when an action begins, and another with the same id when the action has
 * ended. If the process dies between the two, the action stays `begun`: whether it happened is not known.
 */
export class AuditLog {
  readonly #file: FileHandle | undefined;
  readonly #onRow: ((row: AuditRow) => void) | undefined;
  /** In the order in which the actions began. */
  readonly #rows: Map<string, AuditRow> = new Map();
  readonly #refusals = new MinuteLimit(mostRefusalsAMinute);
  #writing: Promise<void> = Promise.resolve();
  /** True if the file may end in half a line, which a full disk leaves. The next write then begins a new line. */
  #torn = false;

  private constructor(file: FileHandle | undefined, onRow: AuditOptions["onRow"]) {
    this.#file = file;
    this.#onRow = onRow;
  }

  /** Fails if the file cannot be written, so that the problem shows at the start and not when the log is needed. */
  static async open(options: AuditOptions): Promise<AuditLog> {
    const file = options.file === undefined ? undefined : await open(options.file, "a+", 0o600);
    const log = new AuditLog(file, options.onRow);
    if (file !== undefined) {
      for (const row of await lastRows(file)) log.#remember(row);
      log.#torn = await endsInHalfALine(file);
    }
    return log;
  }

  /** Resolves when the line is written; only then may the action be done. */
  async begin(row: AuditRow): Promise<void> {
    await this.#write({ ...row, outcome: "begun" });
  }

  /** Puts the row in memory at once. Rejects if the line could not be written. */
  async end(row: AuditRow): Promise<void> {
    this.#onRow?.(row);
    await this.#write(row);
  }

  /** Writes a refusal that came before anything was looked at. Beyond 60 in a minute nothing is written. */
  async refused(row: AuditRow): Promise<void> {
    if (this.#refusals.lets(row.atMs)) await this.end(row);
  }

  /** The rows that are kept, newest first. */
  all(): AuditRow[] {
    return [...this.#rows.values()].toReversed();
  }

  /** The rows after the row `after`. @throws ProblemError when that row is not kept any more. */
  page(limit: number, after?: string): Audit {
    const newest = this.all();
    const from = after === undefined ? 0 : newest.findIndex(({ id }) => id === after) + 1;
    // Beginning anew would list the newest rows twice.
    if (after !== undefined && from === 0)
      throw badRequest("cursor: its row is not kept any more; begin with the newest");
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
      const line = `${this.#torn ? "\n" : ""}${JSON.stringify(row)}\n`;
      this.#torn = true;
      await file.appendFile(line);
      this.#torn = false;
    });
    // The next line is tried whether or not this one was written; the caller of this one gets its error.
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

/** Dry runs and refusals. They never push out actions that were done. */
function isMinor({ dryRun, outcome }: AuditRow): boolean {
  return dryRun || outcome === "denied";
}

async function endsInHalfALine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  const last = Buffer.alloc(1);
  if (size > 0) await file.read(last, 0, 1, size - 1);
  return size > 0 && last.toString() !== "\n";
}

/** The last rows, in the order of the file. */
async function lastRows(file: FileHandle): Promise<AuditRow[]> {
  const rows: AuditRow[] = [];
  // An action that was done has two lines.
  const left = { major: 2 * mostRows, minor: mostMinorRows };
  for await (const line of linesFromTheEnd(file)) {
    // Most lines of a long file are refusals: those that are not kept are not parsed. Inside a JSON text these quotes
    // would have backslashes.
    if (left.minor === 0 && line.includes('"outcome":"denied"')) continue;
    const row = parsed(line);
    if (!Check(AuditRowSchema, row)) continue;
    const weight = isMinor(row) ? "minor" : "major";
    if (left[weight] === 0) continue;
    left[weight] -= 1;
    rows.push(row);
    if (left.major === 0 && left.minor === 0) break;
  }
  return rows.reverse();
}

async function* linesFromTheEnd(file: FileHandle): AsyncGenerator<string> {
  const { size } = await file.stat();
  // The end of a line that begins in the piece before.
  let rest: Uint8Array = new Uint8Array();
  for (let end = size; end > 0 && size - end < mostTailBytes; ) {
    const from = Math.max(0, end - pieceBytes);
    const piece = Buffer.alloc(end - from);
    await file.read(piece, 0, piece.length, from);
    const bytes = Buffer.concat([piece, rest]);
    const whole = from === 0 ? 0 : bytes.indexOf("\n") + 1 || bytes.length;
    rest = bytes.subarray(0, whole);
    yield* bytes.toString("utf8", whole).split("\n").reverse();
    end = from;
  }
}

/** Null for half a line, which a full disk leaves. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
