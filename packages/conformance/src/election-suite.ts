import { leadership } from "./derived-locks.js";
import { electionCases } from "./election-cases.js";
import { electionLeadCases } from "./election-lead-cases.js";
import { electionObserveCases } from "./election-observe-cases.js";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { suite } from "./harness.js";
import { derivedMutexConformance } from "./suites.js";

/**
 * Tests what every leader election must do for its users, on any backend. Also tests leadership for everything that a mutex
 * must do.
 */
export function leaderElectionConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const cases = [...electionCases, ...electionLeadCases, ...electionObserveCases];
  suite(`${name}: leader election`, fixture, options, leadership, cases);
  derivedMutexConformance(name, "leadership", leadership, fixture, { ...options, keeps: false });
}
