import { leadership } from "./derived-locks.js";
import { electionCases } from "./election-cases.js";
import { electionLeadCases } from "./election-lead-cases.js";
import { electionObserveCases } from "./election-observe-cases.js";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { suite } from "./harness.js";
import { derivedMutexConformance } from "./suites.js";

/** What every leader election owes its users, on any backend, and of leadership all that a mutex owes. */
export function leaderElectionConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const cases = [...electionCases, ...electionLeadCases, ...electionObserveCases];
  suite(`${name}: leader election`, fixture, options, leadership, cases);
  derivedMutexConformance(name, "leadership", leadership, fixture, { ...options, keeps: false });
}
