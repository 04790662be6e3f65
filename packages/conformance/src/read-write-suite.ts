import type { LockProvider } from "@holdfast/core";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { suite } from "./harness.js";
import { listenerCases } from "./listener-cases.js";
import { sidesCrowdCases } from "./read-write-crowd-cases.js";
import { downgradeCases } from "./read-write-downgrade-cases.js";
import { sidesEndCases } from "./read-write-end-cases.js";
import { reentrantSidesCases } from "./read-write-reentrant-cases.js";
import { sharingCases } from "./read-write-sharing-cases.js";
import { type SidesMaker, sideAsMutex, sideAsReentrantMutex } from "./read-write-support.js";
import { reentrantCases } from "./reentrant-cases.js";
import { reentrantRaceCases } from "./reentrant-race-cases.js";
import { derivedMutexConformance } from "./suites.js";

const sidesCases = (of: SidesMaker) => [...sharingCases(of), ...sidesEndCases(of), ...sidesCrowdCases(of)];

/**
 * Tests what a read-write lock must do: readers together, writers alone, arrival order, downgrade. Also tests its write side
 * for everything that a mutex must do. A `foreign` locker takes the write side.
 */
export function readWriteLockConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const of = (provider: LockProvider, lockName: string) => provider.readWriteLock(lockName);
  const writeOf = (provider: LockProvider, lockName: string) => {
    const lock = of(provider, lockName);
    return sideAsMutex(lock, lock.write);
  };
  derivedMutexConformance(name, "write lock", writeOf, fixture, options);
  suite(`${name}: read-write lock`, fixture, options, writeOf, sidesCases(of));
  suite(`${name}: downgrade`, fixture, options, writeOf, downgradeCases);
}

/** Tests a re-entrant read-write lock as `readWriteLockConformance` does, and for what re-entry on two sides adds. */
export function reentrantReadWriteLockConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const of = (provider: LockProvider, lockName: string) => provider.reentrantReadWriteLock(lockName);
  const writeOf = (provider: LockProvider, lockName: string) => {
    const lock = of(provider, lockName);
    return sideAsReentrantMutex(lock, lock.write);
  };
  const readOf = (provider: LockProvider, lockName: string) => {
    const lock = of(provider, lockName);
    return sideAsReentrantMutex(lock, lock.read);
  };
  derivedMutexConformance(name, "re-entrant write lock", writeOf, fixture, options);
  suite(`${name}: re-entrant read-write lock`, fixture, options, writeOf, sidesCases(of));
  suite(`${name}: re-entrant write lock, re-entry`, fixture, options, writeOf, [
    ...reentrantCases(writeOf),
    ...reentrantRaceCases(writeOf),
    ...listenerCases(writeOf),
  ]);
  suite(`${name}: re-entrant read lock, re-entry`, fixture, options, writeOf, reentrantRaceCases(readOf));
  suite(`${name}: re-entry on two sides`, fixture, options, writeOf, reentrantSidesCases);
}
