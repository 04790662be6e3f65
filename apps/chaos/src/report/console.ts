import type { RunOutcome, ScenarioOutcome } from "../engine/outcome.js";
import type { Scenario } from "../engine/scenario.js";
import type { History } from "../history/history.js";
import { convictionLines } from "./conviction.js";
import { verdictLines } from "./verdict-lines.js";
import { duration, plural, wordOf } from "./words.js";

/** The line about a finished scenario, the same with and without a terminal. */
export function consoleLine(outcome: ScenarioOutcome): string {
  const { scenario, tookMs, metrics, why, missing } = outcome;
  const verdict =
    outcome.outcome === "skipped" && missing.length > 0 ? `missing here: ${missing.join(", ")}` : why;
  const counts = [
    ...(metrics.grants === undefined ? [] : [plural(metrics.grants, "grant")]),
    ...(metrics.faults === undefined ? [] : [plural(metrics.faults, "fault")]),
  ].join(", ");
  return [
    wordOf(outcome).padEnd(9),
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
 * The estimated time of a scenario beside its workload, before any was measured: for servers, the search for
 * left-overs, and judging.
 */
const besidesMs = 6_000;
/** How long a scenario may go on without a line in a log. */
const quietMs = 30_000;

export interface ConsoleOptions {
  /** Whether to use colors. Default: on a terminal without NO_COLOR. */
  readonly color?: boolean;
  /** All scenarios that will be run. From them the reporter tells how many are left and about how long they take. */
  readonly scenarios?: readonly Pick<Scenario, "id" | "runMs">[];
  /** Default `performance.now`. */
  now?(): number;
}

/**
 * Reports a run while it goes on. On a terminal one line is rewritten with the phase of the running scenario.
 * Elsewhere, for example in a log of CI, there is a line when a scenario begins, with how many are left and for about
 * how long. After that there is a line about its phase every half minute.
 */
export class ConsoleReporter {
  readonly #out: Output;
  readonly #tty: boolean;
  readonly #color: boolean;
  readonly #left: Map<string, number>;
  readonly #total: number;
  readonly #now: () => number;
  readonly #startedMs: number;
  #shown = false;
  /** The scenario that wrote the last line in a log, and when. */
  #spoken: { id: string; atMs: number } | null = null;
  /** How long the finished scenarios took, and how long that was estimated to be. */
  #tookMs = 0;
  #estimatedMs = 0;

  constructor(out: Output = process.stdout, options: ConsoleOptions = {}) {
    const {
      color = process.env.NO_COLOR === undefined,
      scenarios = [],
      now = () => performance.now(),
    } = options;
    this.#out = out;
    this.#tty = out.isTTY === true;
    this.#color = this.#tty && color;
    this.#left = new Map(scenarios.map(({ id, runMs }) => [id, runMs + besidesMs]));
    this.#total = scenarios.length;
    this.#now = now;
    this.#startedMs = now();
  }

  phase(id: string, phase: string, { elapsedMs, grants, faults }: Progress): void {
    if (!this.#tty && this.#begins(id)) return;
    const counts = [
      ...(grants === undefined ? [] : [plural(grants, "grant")]),
      ...(faults === undefined ? [] : [plural(faults, "fault")]),
    ];
    const line = [id.padEnd(5), phase.padEnd(10), duration(elapsedMs).padStart(7), ...counts].join("  ");
    if (!this.#tty) {
      this.#say(id, line);
      return;
    }
    // A line that wraps could not be rewritten.
    this.#out.write(clearLine + line.slice(0, Math.max(10, (this.#out.columns ?? 80) - 1)));
    this.#shown = true;
  }

  /** `again`: the command line that runs the scenario again in the same way. */
  done(outcome: ScenarioOutcome, history: History | null = null, again?: string): void {
    this.#finished(outcome);
    const line = consoleLine(outcome);
    const word = wordOf(outcome);
    this.#line(
      this.#color ? (colors[outcome.outcome] ?? red) + word + plain + line.slice(word.length) : line,
    );
    const asExpected = outcome.outcome === "as-expected";
    for (const each of verdictLines(outcome)) this.#line(`    ${each}`);
    // For an expected conviction the first lines are enough; an unexpected one is shown completely.
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
    // Skipped scenarios are named, so that a machine which can do less does not seem to have done everything.
    if (skipped.length > 0)
      this.#line(
        `not run here: ${skipped.map(({ scenario, missing, why }) => `${scenario.id} (${missing.length > 0 ? missing.join(", ") : why})`).join(", ")}`,
      );
  }

  /** Whether a log gets no line about the phase, because the scenario just began or wrote a line a moment ago. */
  #begins(id: string): boolean {
    if (this.#spoken?.id === id) return this.#now() - this.#spoken.atMs < quietMs;
    const number = this.#total - this.#left.size + 1;
    const [soFar, left] = [this.#now() - this.#startedMs, this.#leftMs()];
    if (this.#left.has(id)) {
      this.#say(
        id,
        `${id} begins: ${number} of ${this.#total}, ${duration(soFar)} so far, about ${duration(left)} left`,
      );
    }
    return true;
  }

  #say(id: string, text: string): void {
    this.#spoken = { id, atMs: this.#now() };
    this.#line(text);
  }

  #finished({ scenario: { id }, tookMs, outcome }: ScenarioOutcome): void {
    const estimated = this.#left.get(id);
    this.#left.delete(id);
    if (estimated === undefined || outcome === "skipped") return;
    this.#tookMs += tookMs;
    this.#estimatedMs += estimated;
  }

  /** How long the remaining scenarios will take: their estimate, corrected by how long the finished ones took. */
  #leftMs(): number {
    const estimated = [...this.#left.values()].reduce((sum, each) => sum + each, 0);
    return this.#estimatedMs === 0 ? estimated : (estimated * this.#tookMs) / this.#estimatedMs;
  }

  #line(text: string): void {
    this.#out.write(`${this.#shown ? clearLine : ""}${text}\n`);
    this.#shown = false;
  }
}
