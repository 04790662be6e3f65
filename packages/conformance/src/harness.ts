import {
  type Capabilities,
  type LockEventMap,
  type LockHandle,
  type LockMode,
  type LockProvider,
  type LockView,
  type Millis,
  type Mutex,
  type Runtime,
  systemRuntime,
} from "@holdfast/core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ConformanceOptions, Fixture } from "./fixture.js";

/** Generous: what is awaited is a condition, and the limit is there to name it when it never comes. */
const patienceMs = 30_000;

/** Makes the lock under test; the same cases run for every kind that behaves as a mutex. */
export type LockMaker = (provider: LockProvider, name: string) => Mutex;

/** What can be looked into. */
type Seen = Pick<LockView, "name" | "inspect">;

/** What each case works with: names of its own, providers that are closed after it, waits with a limit. */
export class Harness {
  readonly fixture: Fixture;
  readonly lockOf: LockMaker;
  /** What its handles and `inspect` call its grants. */
  readonly mode: LockMode;
  readonly runtime: Runtime;
  readonly #fairness: Capabilities["fairness"] | undefined;
  readonly #opened: LockProvider[] = [];
  #nameCount = 0;
  readonly #run: string;

  constructor(
    fixture: Fixture,
    lockOf: LockMaker,
    mode: LockMode,
    fairness: Capabilities["fairness"] | undefined,
  ) {
    this.fixture = fixture;
    this.lockOf = lockOf;
    this.mode = mode;
    this.#fairness = fairness;
    this.runtime = fixture.runtime ?? systemRuntime;
    this.#run = systemRuntime.randomId().slice(0, 8);
  }

  name(): string {
    return `conformance-${this.#run}-${++this.#nameCount}`;
  }

  async provider(): Promise<LockProvider> {
    const provider = await this.fixture.provider();
    this.#opened.push(provider);
    await provider.ready();
    return provider;
  }

  /** Whether the lock under test serves its waiters in the order of their arrival. */
  isFifo(provider: LockProvider): boolean {
    return (this.#fairness ?? provider.capabilities.fairness) === "fifo";
  }

  /** Whether `inspect` can show who waits for the lock under test. */
  get showsWaiters(): boolean {
    return this.fixture.waiting === undefined;
  }

  async closeProviders(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((provider) => provider.close()));
  }

  /** Some time by the providers' clock, where time itself is what a case is about. */
  pass(forMs: Millis): Promise<void> {
    return new Promise((resolve) => this.runtime.setTimer(forMs, resolve, { ref: true }));
  }

  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = this.runtime.nowMs() + patienceMs;
    while (!(await condition())) {
      if (this.runtime.nowMs() > endMs) throw new Error(`waited ${patienceMs} ms in vain for: ${what}`);
      await this.pass(5);
    }
  }

  untilAborted(what: string, signal: AbortSignal): Promise<void> {
    return this.until(what, () => signal.aborted);
  }

  /** Waits until at least `count` acquires are queued, as the backend sees it; where it cannot, as the fixture does. */
  untilQueued(lock: Seen, count: number): Promise<void> {
    return this.until(`${count} in the queue of ${lock.name}`, async () => {
      if (this.fixture.waiting !== undefined) return (await this.fixture.waiting(lock.name)) >= count;
      const { pendingTotal } = await lock.inspect();
      if (pendingTotal === null) throw new Error(`nobody can tell who waits for ${lock.name}`);
      return pendingTotal >= count;
    });
  }

  /** Waits until the backend shows neither a holder nor a waiter. */
  untilEmpty(lock: Seen): Promise<void> {
    return this.until(`nothing left on ${lock.name}`, async () => {
      const { held, pending } = await lock.inspect();
      return held.length === 0 && pending.length === 0;
    });
  }

  /** Records one type of event of a provider from here on, for one lock. */
  record<K extends keyof LockEventMap>(provider: LockProvider, type: K, name?: string): LockEventMap[K][] {
    const seen: LockEventMap[K][] = [];
    provider.events.on(type, (event) => {
      if (name === undefined || (event as { name?: string }).name === name) seen.push(event);
    });
    return seen;
  }

  /** Blocks the event loop until the handle's time is over by its own account, and a little longer. */
  blockPast(handle: LockHandle): void {
    const forMs = handle.remainingMs() + 50;
    if (this.fixture.blockLoop !== undefined) {
      this.fixture.blockLoop(forMs);
      return;
    }
    // Asleep: a loop that spins for as long would take a core from the tests beside it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
  }
}

/** Follows a promise without waiting for it. */
export function follow<T>(promise: Promise<T>): { settled: boolean; value?: T; error?: unknown } {
  const followed: { settled: boolean; value?: T; error?: unknown } = { settled: false };
  promise.then(
    (value) => Object.assign(followed, { settled: true, value }),
    (error) => Object.assign(followed, { settled: true, error }),
  );
  return followed;
}

/** What the promise rejects with; fails when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection, got ${String(value)}`);
}

export type Case = readonly [title: string, run: (harness: Harness) => Promise<void>];

export function suite(
  title: string,
  makeFixture: () => Promise<Fixture>,
  options: ConformanceOptions,
  lockOf: LockMaker,
  cases: readonly Case[],
  mode: LockMode = "exclusive",
): void {
  const timeout = options.timeoutMs ?? 60_000;
  const chosen = cases.filter(([name]) => options.chosen?.(`${title}: ${name}`) ?? true);
  // A suite without a test is an error of its own.
  if (chosen.length === 0) return;
  describe(title, () => {
    let harness: Harness | undefined;
    beforeAll(async () => {
      const fixture = await makeFixture();
      harness = new Harness(fixture, lockOf, mode, options.fairness);
      // A foreign locker that is there and not tested, or tested and not there, is a mistake of the suite.
      expect(fixture.foreign !== undefined).toBe(options.foreign === true);
      if (options.losesAnswers === true) expect(fixture.loseAnswer).toBeDefined();
    }, timeout);
    afterEach(() => harness?.closeProviders(), timeout);
    afterAll(() => harness?.fixture.close?.(), timeout);
    for (const [name, run] of chosen) {
      it(name, { timeout }, async () => {
        if (harness === undefined) throw new Error("the fixture could not be made");
        await run(harness);
      });
    }
  });
}
