import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { Charge } from "./faults.js";

/** One run: a line of the results file. */
export interface Result {
  readonly subject: string;
  readonly version: string;
  readonly fault: string;
  /** What the fault was made of, in short: a run of another trial says nothing of this one. */
  readonly trial: string;
  /** What `codeOf` said of the code that it was run and judged with: a run with other code says nothing of this one. */
  readonly code: string;
  readonly seed: number;
  readonly verdict: "kept" | "convicted" | "unknown";
  /** The worst first. */
  readonly charges: readonly Charged[];
  /** Why nothing can be said; empty where something can. */
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

/** A charge with what shows it. */
export interface Charged {
  readonly charge: Charge;
  readonly text: string;
}

/** Runs that are done, a line of JSON each. A line that was cut by an interrupt is left out, and its run done again. */
export class Results {
  readonly #file: string;
  readonly #all: Result[];

  constructor(file: string) {
    this.#file = file;
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    this.#all = text.split("\n").flatMap(parsed);
    // What is added next begins a line of its own.
    if (text !== "" && !text.endsWith("\n")) appendFileSync(file, "\n");
  }

  /**
   * The results of one cell, in the order of their runs. What was seen of another version, by another trial or of other code says nothing of
   * this one.
   */
  of(cell: CellOfRun): Result[] {
    return this.#all.filter((each) => isOf(each, cell) && each.code === cell.code);
  }

  /** The same of the code that the cell was run with last, whichever that is: what there is to show until it is run again. */
  ofLastCode(cell: CellOfRun): Result[] {
    const last = this.#all.findLast((each) => isOf(each, cell));
    return last === undefined ? [] : this.of(last);
  }

  /** The version that a subject was run with last; `null` before its first run. */
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
