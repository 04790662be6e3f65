import type { CheckerName } from "../checkers/judge.js";
import type { CheckResult } from "../checkers/verdict.js";
import type { Capability } from "./capability.js";
import type { PlannedFault, Scenario } from "./scenario.js";

/**
 * The outcome of a scenario.
 * - `as-expected`: every checker that must pass did, and every checker that must convict did.
 * - `violation`: a checker that must pass convicted.
 * - `not-demonstrated`: a checker that must convict passed.
 * - `unknown`: too little happened (too few grants, a planned fault that did not happen), or a checker convicted while
 *   the servers report that they were at odds among themselves.
 * - `skipped`: this machine lacks a capability.
 * - `broken`: the runner itself failed; never counted as anything else.
 */
export type OutcomeKind = "as-expected" | "violation" | "not-demonstrated" | "unknown" | "skipped" | "broken";

/** The outcome of one scenario, and all its evidence. */
export interface ScenarioOutcome {
  /** The scenario that was run. */
  readonly scenario: Pick<
    Scenario,
    "id" | "title" | "tags" | "topology" | "expect" | "faults" | "mode" | "subject"
  >;
  /** The outcome of the scenario. */
  readonly outcome: OutcomeKind;
  /** The reason for the outcome, in one line. */
  readonly why: string;
  /** The seed from which plan and workload were drawn. */
  readonly seed: number;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
  /** The missing capabilities, if it was skipped. */
  readonly missing: readonly Capability[];
  /** The planned faults. */
  readonly plan: readonly PlannedFault[];
  /** The answer of each checker. */
  readonly results: readonly CheckResult[];
  /** The checkers whose verdict was not the expected one. */
  readonly unexpected: readonly CheckerName[];
  /** Figures of the run as a whole: grants, faults, grants per second, longest time without a grant... */
  readonly metrics: Readonly<Record<string, number>>;
  /** Versions of the servers, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  /** The capabilities of this machine. */
  readonly capabilities: readonly Capability[];
  /** The folder with history.jsonl, plan.json, logs and configuration; null if it was not kept. */
  readonly folder: string | null;
  /** The smallest case after shrinking; unset if shrinking was not tried. */
  readonly smallest?: Smallest;
}

/** The smallest case that was seen to show a violation. */
export interface Smallest {
  /** The faults of its plan: fewer than were drawn, or all of them if nothing smaller showed the violation. */
  readonly faults: readonly PlannedFault[];
  /** The number of faults in the plan that convicted first. */
  readonly drawn: number;
  /** The number of its worker processes. */
  readonly workers: number;
  /** The number of runs that the search took. */
  readonly tries: number;
  /** A command line that runs it again. */
  readonly command: string;
  /** The folder with its own history, plan and timeline; null if nothing smaller showed the violation. */
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
