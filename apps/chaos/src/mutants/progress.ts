import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckerName } from "../checkers/judge.js";
import type { OutcomeKind } from "../engine/outcome.js";

/** What one run of a scenario came to. */
export interface Verdict {
  readonly outcome: OutcomeKind;
  readonly convictedBy: readonly CheckerName[];
  readonly why: string;
}

interface Line extends Verdict {
  readonly of: string;
  readonly seed: number;
  /** The digest of the scenario and the built file as they were run: with others the verdict is worth nothing. */
  readonly text: string;
}

/** The file in which what is known so far is kept. */
export const progressFile = (folder: string): string => join(folder, "progress.jsonl");

/** What was run with this seed so far, in `progress.jsonl` of a folder: an interrupted run goes on where it was. */
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
    // A line that was being written when the run ended goes.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    if (whole !== text) writeFileSync(this.#path, whole);
    for (const each of whole.split("\n").filter((line) => line !== "")) {
      const line = JSON.parse(each) as Line;
      if (line.seed === seed) this.#known.set(`${line.of} ${line.text}`, line);
    }
  }

  /** `null` when it was not run yet. */
  verdict(of: string, text: string): Verdict | null {
    return this.#known.get(`${of} ${hashOf(text)}`) ?? null;
  }

  /** Where the runner failed or too little happened, nothing is known: that is not kept, and run again the next time. */
  add(of: string, text: string, verdict: Verdict): Verdict {
    if (verdict.outcome === "broken" || verdict.outcome === "unknown") return verdict;
    const line: Line = { of, seed: this.#seed, text: hashOf(text), ...verdict };
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
    this.#known.set(`${of} ${line.text}`, verdict);
    return verdict;
  }
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
