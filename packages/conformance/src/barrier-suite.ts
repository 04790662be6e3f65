import type { LockProvider } from "@holdfast/core";
import { barrierCases } from "./barrier-cases.js";
import { doubleBarrierCases } from "./barrier-double-cases.js";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { suite } from "./harness.js";

/** What these suites hold to end a session with. */
const lockOf = (provider: LockProvider, lockName: string) => provider.mutex(lockName);

/** What every barrier owes its users. `loseHold` of the fixture must end the session of the handle's provider. */
export function barrierConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  suite(`${name}: barrier`, fixture, options, lockOf, barrierCases);
}

/** What every double barrier owes its users. `loseHold` of the fixture must end the session of the handle's provider. */
export function doubleBarrierConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  suite(`${name}: double barrier`, fixture, options, lockOf, doubleBarrierCases);
}
