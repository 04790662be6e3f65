import type { Capabilities, LockHandle, LockProvider, Millis, Runtime } from "@holdfast/core";

/** A backend as the conformance kit sees it. One fixture is made for each suite and used by all of its cases. */
export interface Fixture {
  /** Makes a new client of the same backend. The kit closes it. */
  provider(): Promise<LockProvider>;

  /**
   * Makes `handle` lose its hold as the backend would: expire the session, delete the key, cut a majority. Resolves once
   * that has been done at the backend; the client may notice it later. New sessions are opened without the fixture's help.
   */
  loseHold(handle: LockHandle): Promise<void>;

  /** Cuts the link of one provider at once. Disposing the result restores the link. */
  partition(provider: LockProvider): Promise<Disposable>;

  /**
   * Makes the backend execute the next request of this provider that may grant or queue, and lose its answer. Resolves once
   * that has happened. Needed with the option `losesAnswers`.
   */
  loseAnswer?(provider: LockProvider): Promise<void>;

  /** A client of another implementation, where there is one: Curator, Redisson, kazoo. */
  foreign?: ForeignLocker;

  /**
   * The number of waiters for `name` whose requests have reached the backend. Given only where waiters leave no trace in the
   * backend. There `inspect` cannot show them and must report `pendingTotal: null`.
   */
  waiting?(name: string): number | Promise<number>;

  /**
   * Whether the backend only counts holds of the lock under test and does not keep its holders: holds of other clients have
   * no names.
   */
  readonly anonymous?: boolean;

  /** Whether holds of the lock under test have leases. Default: where the provider's `capabilities.lease` is `"ttl"`. */
  leases?(provider: LockProvider): boolean;

  /**
   * The longest lease that the backend grants, if that is less than the 10 minutes that cases ask for. Below 20 seconds the end
   * of the lease may free a lock in time, so no case shows that a release is repeated after an outage.
   */
  readonly maxLeaseMs?: Millis;

  /** The clock of the providers, which the kit's own waits use too. Default: the system's. */
  runtime?: Runtime;

  /** Lets `forMs` pass without running the event loop. Default: the thread sleeps. */
  blockLoop?(forMs: Millis): void;

  /** Ends what the fixture has opened beside its providers, once all cases have run. */
  close?(): Promise<void>;
}

/** A client of another implementation on the same locks. */
export interface ForeignLocker {
  /** Acquires the lock `name`, which is the name as it was given to `mutex()`. */
  acquire(name: string): Promise<{ release(): Promise<void> }>;
}

/** What a suite knows of its fixture, and which of its cases run. */
export interface ConformanceOptions {
  /** The fixture has a `foreign` locker: adds the cases with it. */
  readonly foreign?: boolean;
  /** The fixture has `loseAnswer`: adds the cases with it. */
  readonly losesAnswers?: boolean;
  /** The fairness of the lock under test, where it is less fair than its provider can be. Default: the provider's. */
  readonly fairness?: Capabilities["fairness"];
  /** Whether a case is run. Gets the title of the suite and of the case; called once for each case. Default: all are run. */
  chosen?(title: string): boolean;
  /** Time for one case. Default 60,000: sessions of real servers take seconds to end. */
  readonly timeoutMs?: Millis;
}
