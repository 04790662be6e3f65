import type { RunOutcome, ScenarioOutcome } from "../engine/outcome.js";
import type { History } from "../history/history.js";
import { convictionLines } from "./conviction.js";
import { duration, outcomeWords, plural } from "./words.js";

/** One line of a finished scenario, the same with and without a terminal. */
export function consoleLine(outcome: ScenarioOutcome): string {
  const { scenario, tookMs, metrics, why, missing } = outcome;
  const verdict =
    outcome.outcome === "skipped" && missing.length > 0 ? `missing here: ${missing.join(", ")}` : why;
  const counts = [
    ...(metrics.grants === undefined ? [] : [plural(metrics.grants, "grant")]),
    ...(metrics.faults === undefined ? [] : [plural(metrics.faults, "fault")]),
  ].join(", ");
  return [
    outcomeWords[outcome.outcome].padEnd(9),
    scenario.id.padEnd(5),
    duration(tookMs).padStart(7),
    counts.padEnd(22),
    verdict,
  ].join("  ");
}

export interface Progress {
  readonly elapsedMs: number;
  readonly grants?: number;
  readonly faults?: number;
}

interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const colors: Readonly<Record<string, string>> = {
  "as-expected": "\u001b[32m",
  skipped: "\u001b[33m",
  unknown: "\u001b[33m",
};
const red = "\u001b[31m";
const plain = "\u001b[0m";
const clearLine = "\r\u001b[2K";

/**
 * Tells of a run as it goes. On a terminal one line is rewritten with the phase of what runs now; elsewhere only finished
 * scenarios are printed, so that a log of CI stays short.
 */
export class ConsoleReporter {
  readonly #out: Output;
  readonly #tty: boolean;
  readonly #color: boolean;
  #shown = false;

  /** `color` defaults to a terminal without NO_COLOR. */
  constructor(out: Output = process.stdout, color: boolean = process.env.NO_COLOR === undefined) {
    this.#out = out;
    this.#tty = out.isTTY === true;
    this.#color = this.#tty && color;
  }

  phase(id: string, phase: string, { elapsedMs, grants, faults }: Progress): void {
    if (!this.#tty) return;
    const counts = [
      ...(grants === undefined ? [] : [plural(grants, "grant")]),
      ...(faults === undefined ? [] : [plural(faults, "fault")]),
    ];
    const line = [id.padEnd(5), phase.padEnd(10), duration(elapsedMs).padStart(7), ...counts].join("  ");
    // A line that wraps could not be rewritten.
    this.#out.write(clearLine + line.slice(0, Math.max(10, (this.#out.columns ?? 80) - 1)));
    this.#shown = true;
  }

  /** `again`: the command line that runs it as it was. */
  done(outcome: ScenarioOutcome, history: History | null = null, again?: string): void {
    const line = consoleLine(outcome);
    const word = outcomeWords[outcome.outcome];
    this.#line(
      this.#color ? (colors[outcome.outcome] ?? red) + word + plain + line.slice(word.length) : line,
    );
    const asExpected = outcome.outcome === "as-expected";
    // An expected conviction is worth its first sentence, an unexpected one everything.
    const lines = convictionLines(outcome, history);
    for (const each of asExpected ? lines.slice(0, 5) : lines) this.#line(`    ${each}`);
    if (!asExpected && outcome.folder !== null) this.#line(`    kept in ${outcome.folder}`);
    if (!asExpected && outcome.outcome !== "skipped")
      this.#line(`    again: ${again ?? `holdfast-chaos run ${outcome.scenario.id} --seed ${outcome.seed}`}`);
  }

  end(run: RunOutcome): void {
    const counts = new Map<string, number>();
    for (const { outcome } of run.outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const shown = [...counts].map(([kind, n]) => `${n} ${kind}`).join(", ");
    this.#line(
      `${plural(run.outcomes.length, "scenario")} in ${duration(run.tookMs)}, seed ${run.seed}: ${shown === "" ? "nothing was run" : shown}`,
    );
    const skipped = run.outcomes.filter(({ outcome }) => outcome === "skipped");
    // Named, so that a machine that can do less does not look as if it had done all.
    if (skipped.length > 0)
      this.#line(
        `not run here: ${skipped.map(({ scenario, missing }) => `${scenario.id} (${missing.join(", ")})`).join(", ")}`,
      );
  }

  #line(text: string): void {
    this.#out.write(`${this.#shown ? clearLine : ""}${text}\n`);
    this.#shown = false;
  }
}
