import type { LockProvider } from "@holdfast/core";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { suite } from "./harness.js";
import { recordCases } from "./record-cases.js";

/** Tests what every shared record must do for its users, on any backend. Call it at the top level of a test file. */
export function recordConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const lockOf = (provider: LockProvider, lockName: string) => provider.mutex(lockName);
  suite(`${name}: record`, fixture, options, lockOf, recordCases);
}
