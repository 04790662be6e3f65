import type { LockProvider, Mutex } from "@holdfast/core";
import type { ConformanceOptions, Fixture } from "./fixture.js";
import { suite } from "./harness.js";
import { keepingCases, keepingReadWriteCases } from "./keeping-cases.js";
import { sideAsMutex, sideAsReentrantMutex } from "./read-write-support.js";

const mutexOf = (provider: LockProvider, name: string): Mutex => provider.mutex(name);
const reentrantOf = (provider: LockProvider, name: string): Mutex => provider.reentrantMutex(name);
const sidesOf = (provider: LockProvider, name: string) => {
  const lock = provider.readWriteLock(name);
  return { read: sideAsMutex(lock, lock.read), write: sideAsMutex(lock, lock.write) };
};
const reentrantSidesOf = (provider: LockProvider, name: string) => {
  const lock = provider.reentrantReadWriteLock(name);
  return { read: sideAsReentrantMutex(lock, lock.read), write: sideAsReentrantMutex(lock, lock.write) };
};

/** Tests what a backend that keeps locks for their next owner must do. The fixture's providers must have `keepingOptions`. */
export function keepingConformance(
  name: string,
  fixture: () => Promise<Fixture>,
  options: ConformanceOptions = {},
): void {
  suite(`${name}: kept mutex`, fixture, options, mutexOf, keepingCases);
  suite(`${name}: kept re-entrant mutex`, fixture, options, reentrantOf, keepingCases);
  for (const [form, sides] of [
    ["write lock", sidesOf],
    ["re-entrant write lock", reentrantSidesOf],
  ] as const) {
    suite(`${name}: kept ${form}`, fixture, options, (provider, lock) => sides(provider, lock).write, [
      ...keepingCases,
      ...keepingReadWriteCases(sides),
    ]);
  }
}

/** The options that the providers of `keepingConformance` must have. */
export const keepingOptions = {
  keepMs: 60_000,
  maxKeepMs: 120_000,
  keepAskMs: 1_000,
  fenceBy: "token-and-turn",
} as const;
