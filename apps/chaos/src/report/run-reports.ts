import type { RunOutcome, ScenarioOutcome } from "../engine/outcome.js";
import { writeSummaries, writeTimelines } from "./write-reports.js";

/**
 * The reports of a run while it goes on. They are written anew after each scenario, so that a run which is interrupted,
 * killed or out of time has the reports of all finished scenarios. A scenario that is not finished is listed as
 * `unknown`, never as passed.
 */
export class RunReports {
  /** The reasons why timelines could not be made. */
  readonly problems: string[] = [];
  readonly #dir: string;
  readonly #seed: number;
  readonly #startedAt = new Date().toISOString();
  readonly #startedMs = performance.now();
  readonly #outcomes: Map<string, ScenarioOutcome>;
  #finished = 0;
  /** Writes happen one after the other, because scenarios of different topologies may end at the same time. */
  #writing: Promise<void>;

  /** `unfinished`: one outcome for each scenario, in the order of the reports. */
  constructor(dir: string, seed: number, unfinished: readonly ScenarioOutcome[]) {
    this.#dir = dir;
    this.#seed = seed;
    this.#outcomes = new Map(unfinished.map((each) => [each.scenario.id, each]));
    this.#writing = this.#write();
  }

  get finished(): number {
    return this.#finished;
  }

  async add(outcome: ScenarioOutcome): Promise<void> {
    this.#finished += 1;
    this.#outcomes.set(outcome.scenario.id, outcome);
    // The verdict is written first: the timeline of a long run takes a while, and the run may be killed meanwhile.
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
    this.problems.push(...(await writeTimelines([outcome])));
  }

  #write(): Promise<void> {
    const run: RunOutcome = {
      seed: this.#seed,
      startedAt: this.#startedAt,
      tookMs: Math.round(performance.now() - this.#startedMs),
      outcomes: [...this.#outcomes.values()],
    };
    return writeSummaries(run, this.#dir);
  }
}
