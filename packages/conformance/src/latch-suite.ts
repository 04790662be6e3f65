import type { LockProvider } from "@holdfast/core";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { suite } from "./harness.js";
import { latchCases } from "./latch-cases.js";

/** Tests what every countdown latch must do for its users, on any backend. Call it at the top level of a test file. */
export function countDownLatchConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const lockOf = (provider: LockProvider, lockName: string) => provider.mutex(lockName);
  suite(`${name}: countdown latch`, fixture, options, lockOf, latchCases);
}
