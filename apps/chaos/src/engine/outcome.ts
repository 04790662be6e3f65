import type { CheckerName } from "../checkers/judge.js";
import type { CheckResult } from "../checkers/verdict.js";
import type { Capability } from "./capability.js";
import type { PlannedFault, Scenario } from "./scenario.js";

/**
 * How a scenario came out.
 * - `as-expected`: everything that must pass did, and everything that must be convicted was.
 * - `violation`: a checker convicted that must pass.
 * - `not-demonstrated`: a checker passed that must convict.
 * - `unknown`: too little happened (too few grants, a planned fault that did not), or a checker convicted while the servers say
 *   that they were at odds among themselves.
 * - `skipped`: this machine lacks a capability.
 * - `broken`: the runner itself failed; never counted as anything else.
 */
export type OutcomeKind = "as-expected" | "violation" | "not-demonstrated" | "unknown" | "skipped" | "broken";

/** How one scenario came out, and all that shows it. */
export interface ScenarioOutcome {
  /** What was run. */
  readonly scenario: Pick<
    Scenario,
    "id" | "title" | "tags" | "topology" | "expect" | "faults" | "mode" | "subject"
  >;
  /** How it came out. */
  readonly outcome: OutcomeKind;
  /** What decided it, in one line. */
  readonly why: string;
  /** The seed that plan and workload were drawn from. */
  readonly seed: number;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
  /** What is missing here, when it was skipped. */
  readonly missing: readonly Capability[];
  /** What was planned to be broken. */
  readonly plan: readonly PlannedFault[];
  /** What each checker says. */
  readonly results: readonly CheckResult[];
  /** Checkers whose verdict was not the expected one. */
  readonly unexpected: readonly CheckerName[];
  /** Figures of the run as a whole: grants, faults, grants per second, longest time without a grant... */
  readonly metrics: Readonly<Record<string, number>>;
  /** Versions of the servers, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  /** What this machine can do. */
  readonly capabilities: readonly Capability[];
  /** Folder with history.jsonl, plan.json, logs and configuration; null when it was not kept. */
  readonly folder: string | null;
  /** What is left of a violation after shrinking; unset where that was not tried. */
  readonly smallest?: Smallest;
}

/** The smallest case that was seen to show a violation. */
export interface Smallest {
  /** The faults of its plan: fewer than were drawn, or all where nothing smaller showed it. */
  readonly faults: readonly PlannedFault[];
  /** How many the plan had that convicted first. */
  readonly drawn: number;
  /** How many worker processes it has. */
  readonly workers: number;
  /** Runs that it took. */
  readonly tries: number;
  /** A command line that runs it again. */
  readonly command: string;
  /** Its own history, plan and timeline; null when nothing smaller showed it. */
  readonly folder: string | null;
}

/** A run of one or more scenarios. */
export interface RunOutcome {
  /** The seed of the run. */
  readonly seed: number;
  /** When it began, as ISO 8601 in UTC. */
  readonly startedAt: string;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
  /** One outcome for each scenario, in the order in which they were given. */
  readonly outcomes: readonly ScenarioOutcome[];
}
