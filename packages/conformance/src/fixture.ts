import type { Capabilities, LockHandle, LockProvider, Millis, Runtime } from "@holdfast/core";

/** A backend as the conformance kit sees it. One is made for each suite and used by all of its cases. */
export interface Fixture {
  /** A fresh client of the same backend. The kit closes it. */
  provider(): Promise<LockProvider>;

  /**
   * Makes `handle` lose its hold as the backend would: expire the session, delete the key, cut a majority. Resolves
   * once that has been done at the backend; the client may hear of it later. New sessions come by themselves.
   */
  loseHold(handle: LockHandle): Promise<void>;

  /** Cuts the link of one provider at once; disposing mends it. */
  partition(provider: LockProvider): Promise<Disposable>;

  /**
   * The backend does the next request of this provider that may grant or queue, and its answer is lost. Resolves once that has
   * happened. With the option `losesAnswers`.
   */
  loseAnswer?(provider: LockProvider): Promise<void>;

  /** Another implementation's view, where there is one: Curator, Redisson, kazoo. */
  foreign?: ForeignLocker;

  /**
   * How many wait for `name`, as far as the backend has been asked. Only where waiters leave no trace in the backend, so
   * that `inspect` cannot show them and must say so: `pendingTotal: null`.
   */
  waiting?(name: string): number | Promise<number>;

  /** The backend counts what is held of the lock under test, and does not keep who holds: others' holds have no names. */
  readonly anonymous?: boolean;

  /** Whether holds of the lock under test have leases. Default: where the provider's `capabilities.lease` is `"ttl"`. */
  leases?(provider: LockProvider): boolean;

  /** The clock that the providers live by, for the kit's own waits. Default: the system's. */
  runtime?: Runtime;

  /** Lets so much time pass without running the event loop. Default: the thread sleeps. */
  blockLoop?(forMs: Millis): void;

  /** Ends what the fixture has opened beside its providers, once all cases have run. */
  close?(): Promise<void>;
}

/** A client of another implementation on the same locks. */
export interface ForeignLocker {
  /** `name` as it was given to `mutex()`. */
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
  /** Whether a case is run, by its title behind that of its suite; asked once for each. Default: all are. */
  chosen?(title: string): boolean;
  /** Time for one case. Default 60,000: sessions of real servers take seconds to end. */
  readonly timeoutMs?: Millis;
}
