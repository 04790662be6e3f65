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

/**
 * The limit for a condition that a case waits for. It is long, because it only has to name a condition that never comes
 * true.
 */
const patienceMs = 30_000;

/**
 * The limit of a wait that runs out because the lock is taken. The server has to answer within it: without an answer the wait
 * ends as an outage, by another error. On a busy machine an answer may take some hundred milliseconds.
 */
export const vainMs: Millis = 1_000;

/** Makes the lock under test; the same cases run for every kind that behaves as a mutex. */
export type LockMaker = (provider: LockProvider, name: string) => Mutex;

/** A lock that can be inspected. */
type Seen = Pick<LockView, "name" | "inspect">;

/** The means of each case: names of its own, providers that are closed after it, and waits with a limit. */
export class Harness {
  readonly fixture: Fixture;
  readonly lockOf: LockMaker;
  /** The mode that handles and `inspect` report for grants of the lock under test. */
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

  /** Whether holds of the lock under test have leases. */
  leases(provider: LockProvider): boolean {
    return this.fixture.leases?.(provider) ?? provider.capabilities.lease === "ttl";
  }

  /**
   * The options of a hold that does not end by its lease while a case runs. If the lock is free again, it was given back.
   */
  longLease(provider: LockProvider): { readonly leaseMs?: Millis } {
    return this.leases(provider) ? { leaseMs: this.fixture.maxLeaseMs ?? 600_000 } : {};
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

  /** Lets `forMs` pass by the providers' clock, for cases that are about time itself. */
  pass(forMs: Millis): Promise<void> {
    return new Promise((resolve) => this.runtime.setTimer(forMs, resolve, { ref: true }));
  }

  async until(
    what: string,
    condition: () => boolean | Promise<boolean>,
    limitMs: Millis = patienceMs,
  ): Promise<void> {
    const endMs = this.runtime.nowMs() + limitMs;
    while (!(await condition())) {
      if (this.runtime.nowMs() > endMs) throw new Error(`waited ${limitMs} ms in vain for: ${what}`);
      await this.pass(5);
    }
  }

  untilAborted(what: string, signal: AbortSignal): Promise<void> {
    return this.until(what, () => signal.aborted);
  }

  /**
   * Waits until at least `count` acquires are queued, as the backend sees it; where it cannot see waiters, as the fixture
   * sees it. Waits no longer once `unless` is true.
   */
  untilQueued(lock: Seen, count: number, unless: () => boolean = () => false): Promise<void> {
    return this.until(`${count} in the queue of ${lock.name}`, async () => {
      if (unless()) return true;
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

  /** Records one type of event of a provider from now on; with `name`, only events of that lock. */
  record<K extends keyof LockEventMap>(provider: LockProvider, type: K, name?: string): LockEventMap[K][] {
    const seen: LockEventMap[K][] = [];
    provider.events.on(type, (event) => {
      if (name === undefined || (event as { name?: string }).name === name) seen.push(event);
    });
    return seen;
  }

  /** Blocks the event loop until `remainingMs()` of the handle is over, and a little longer. */
  blockPast(handle: LockHandle): void {
    const forMs = handle.remainingMs() + 50;
    if (this.fixture.blockLoop !== undefined) {
      this.fixture.blockLoop(forMs);
      return;
    }
    // The thread sleeps: a loop that spins for this time would take a core from other tests.
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

/** The reason with which the promise rejects; throws when it does not reject. */
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
  // The test runner refuses a suite without a test.
  if (chosen.length === 0) return;
  describe(title, () => {
    let harness: Harness | undefined;
    beforeAll(async () => {
      const fixture = await makeFixture();
      harness = new Harness(fixture, lockOf, mode, options.fairness);
      // A foreign locker that exists and is not tested, or that is to be tested and does not exist, is a mistake of the suite.
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
