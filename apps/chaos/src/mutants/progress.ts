import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckerName } from "../checkers/judge.js";
import type { OutcomeKind } from "../engine/outcome.js";

/** The result of one run of a scenario. */
export interface Verdict {
  readonly outcome: OutcomeKind;
  readonly convictedBy: readonly CheckerName[];
  readonly why: string;
}

interface Line extends Verdict {
  readonly of: string;
  readonly seed: number;
  /** The digest of the scenario and the built file that were run. If either changes, the verdict is worth nothing. */
  readonly text: string;
}

/** The file in which the progress is kept. */
export const progressFile = (folder: string): string => join(folder, "progress.jsonl");

/** The runs with this seed so far, kept in `progress.jsonl` of a folder, so that an interrupted run can go on. */
export class Progress {
  readonly #path: string;
  readonly #seed: number;
  readonly #known = new Map<string, Verdict>();

  constructor(folder: string, seed: number) {
    mkdirSync(folder, { recursive: true });
    this.#path = progressFile(folder);
    this.#seed = seed;
    if (!existsSync(this.#path)) return;
    const text = readFileSync(this.#path, "utf8");
    // Remove a line that was being written when the run ended.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    if (whole !== text) writeFileSync(this.#path, whole);
    for (const each of whole.split("\n").filter((line) => line !== "")) {
      const line = JSON.parse(each) as Line;
      if (line.seed === seed) this.#known.set(`${line.of} ${line.text}`, line);
    }
  }

  /** The verdict of a run; `null` if it was not run yet. */
  verdict(of: string, text: string): Verdict | null {
    return this.#known.get(`${of} ${hashOf(text)}`) ?? null;
  }

  /**
   * Keeps a verdict. If the runner failed or too little happened, nothing is known: then nothing is kept, and it is run
   * again the next time.
   */
  add(of: string, text: string, verdict: Verdict): Verdict {
    if (verdict.outcome === "broken" || verdict.outcome === "unknown") return verdict;
    const line: Line = { of, seed: this.#seed, text: hashOf(text), ...verdict };
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
    this.#known.set(`${of} ${line.text}`, verdict);
    return verdict;
  }
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
