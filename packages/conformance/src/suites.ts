import type { LockMode, LockProvider } from "@holdfast/core";
import { acquireCases } from "./acquire-cases.js";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { graceCases } from "./grace-cases.js";
import { type Case, type LockMaker, suite } from "./harness.js";
import { keepCases } from "./keep-cases.js";
import { listenerCases } from "./listener-cases.js";
import { lossCases } from "./loss-cases.js";
import { foreignCases, providerCases } from "./provider-cases.js";
import { reentrantCases } from "./reentrant-cases.js";
import { reentrantRaceCases } from "./reentrant-race-cases.js";
import { releaseCases } from "./release-cases.js";
import { scopeCases } from "./scope-cases.js";
import { withdrawnCases } from "./withdrawn-cases.js";

function mutexCases(options: ConformanceOptions): readonly Case[] {
  const cases = [
    ...acquireCases,
    ...releaseCases,
    ...lossCases,
    ...scopeCases,
    ...providerCases,
    ...graceCases,
  ];
  if (options.foreign === true) cases.push(...foreignCases);
  if (options.losesAnswers === true) cases.push(...withdrawnCases);
  return cases;
}

/** Tests what every mutex must do for its users, on any backend. Call it at the top level of a test file. */
export function mutexConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const lockOf = (provider: LockProvider, lockName: string) => provider.mutex(lockName);
  suite(`${name}: mutex`, fixture, options, lockOf, [...mutexCases(options), ...keepCases]);
}

/**
 * Tests something else that behaves as a mutex for everything that a mutex must do. `form` names it. `mode`: the mode that
 * its handles report; default "exclusive". `keeps: false`: it has no `holdAtLeastMs`.
 */
export function derivedMutexConformance(
  name: string,
  form: string,
  lockOf: LockMaker,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions & { readonly mode?: LockMode; readonly keeps?: boolean } = {},
): void {
  const { mode, keeps = true } = options;
  const cases = keeps ? [...mutexCases(options), ...keepCases] : mutexCases(options);
  suite(`${name}: ${form} as mutex`, fixture, options, lockOf, cases, mode);
}

/** Tests a re-entrant mutex for everything that a mutex must do, and for what re-entry adds. */
export function reentrantMutexConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  const lockOf = (provider: LockProvider, lockName: string) => provider.reentrantMutex(lockName);
  suite(`${name}: re-entrant mutex as mutex`, fixture, options, lockOf, [
    ...mutexCases(options),
    ...keepCases,
  ]);
  suite(`${name}: re-entry`, fixture, options, lockOf, [
    ...reentrantCases(lockOf),
    ...reentrantRaceCases(lockOf),
    ...listenerCases(lockOf),
  ]);
}
