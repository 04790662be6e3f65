import { semaphoreOfOne } from "./derived-locks.js";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { suite } from "./harness.js";
import { semaphoreCases } from "./semaphore-cases.js";
import { semaphoreCrowdCases } from "./semaphore-crowd-cases.js";
import { semaphoreScopeCases } from "./semaphore-scope-cases.js";
import { derivedMutexConformance } from "./suites.js";

/**
 * Tests what every semaphore must do for its users, on any backend. With one permit, it is also tested for everything that a
 * mutex must do.
 */
export function semaphoreConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const cases = [...semaphoreCases, ...semaphoreScopeCases, ...semaphoreCrowdCases];
  suite(`${name}: semaphore`, fixture, options, semaphoreOfOne, cases);
  derivedMutexConformance(name, "semaphore of one", semaphoreOfOne, fixture, { ...options, mode: "shared" });
}
