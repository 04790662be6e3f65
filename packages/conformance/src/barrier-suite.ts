import type { LockProvider } from "@holdfast/core";
import { barrierCases } from "./barrier-cases.js";
import { doubleBarrierCases } from "./barrier-double-cases.js";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { suite } from "./harness.js";

/** The lock that these suites hold in order to end the session of its provider. */
const lockOf = (provider: LockProvider, lockName: string) => provider.mutex(lockName);

/** Tests what every barrier must do for its users. `loseHold` of the fixture must end the session of the handle's provider. */
export function barrierConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  suite(`${name}: barrier`, fixture, options, lockOf, barrierCases);
}

/**
 * Tests what every double barrier must do for its users. `loseHold` of the fixture must end the session of the handle's
 * provider.
 */
export function doubleBarrierConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  suite(`${name}: double barrier`, fixture, options, lockOf, doubleBarrierCases);
}
