import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { Charge } from "./faults.js";

/** One run: a line of the results file. */
export interface Result {
  readonly subject: string;
  readonly version: string;
  readonly fault: string;
  /** A short hash of what was run and of what it may be convicted. Runs of another trial do not count for this one. */
  readonly trial: string;
  /** A short hash of the code that ran and judged it, as `codeOf` gives it. Runs with other code do not count for this one. */
  readonly code: string;
  readonly seed: number;
  readonly verdict: "kept" | "convicted" | "unknown";
  /** The worst first. */
  readonly charges: readonly Charged[];
  /** Why there is no verdict; empty if there is one. */
  readonly why: string;
  readonly servers: Readonly<Record<string, string>>;
  readonly figures: Readonly<Record<string, number>>;
  readonly tookMs: number;
}

type CellOfRun = Pick<Result, "subject" | "fault" | "version" | "trial" | "code">;

const isOf = (result: Result, { subject, fault, version, trial }: CellOfRun): boolean =>
  result.subject === subject &&
  result.fault === fault &&
  result.version === version &&
  result.trial === trial;

/** A charge and the text that shows it. */
export interface Charged {
  readonly charge: Charge;
  readonly text: string;
}

/** The runs that are done, one line of JSON each. A line that an interrupt has cut is left out, and its run is done again. */
export class Results {
  readonly #file: string;
  readonly #all: Result[];

  constructor(file: string) {
    this.#file = file;
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    this.#all = text.split("\n").flatMap(parsed);
    // End a cut line, so that the next result begins a line of its own.
    if (text !== "" && !text.endsWith("\n")) appendFileSync(file, "\n");
  }

  /** The results of one cell, in the order of their runs. Runs of another version, another trial or other code do not count. */
  of(cell: CellOfRun): Result[] {
    return this.#all.filter((each) => isOf(each, cell) && each.code === cell.code);
  }

  /**
   * The results of the code with which the cell was run last, even if the code has changed since. They are shown until
   * the cell is run again.
   */
  ofLastCode(cell: CellOfRun): Result[] {
    const last = this.#all.findLast((each) => isOf(each, cell));
    return last === undefined ? [] : this.of(last);
  }

  /** The version with which a subject was run last; `null` before its first run. */
  versionOf(subject: string): string | null {
    return this.#all.findLast((each) => each.subject === subject)?.version ?? null;
  }

  add(result: Result): void {
    this.#all.push(result);
    appendFileSync(this.#file, `${JSON.stringify(result)}\n`);
  }
}

function parsed(line: string): Result[] {
  try {
    return [JSON.parse(line) as Result];
  } catch {
    return [];
  }
}
