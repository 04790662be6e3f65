import type { Attempt, AttemptListener, Grant, GrantRequest, GrantState, LockDriver } from "../api/driver.js";
import type { BackendLink } from "../api/link.js";
import type { LossReason } from "../api/values.js";
import { outsideScopes } from "../scope-store.js";
import type { KeepTerms } from "./keep-terms.js";
import type { Keeping, LocalWaiter, Tenant } from "./keeping.js";

/** What a `KeepableAttempt` needs of its provider. */
export interface AttemptBooks {
  readonly driver: LockDriver;
  readonly link: BackendLink;
  /** The driver has granted a lock to the provider. Returns the keeping for it. */
  granted(terms: KeepTerms, grant: Grant): Keeping;
}

/**
 * One attempt for a lock that may be kept. It stands between core's claim and the driver. It is lent a lock that the provider
 * keeps, at once or after a wait in memory, or it asks the driver and wraps the driver's grant.
 */
export class KeepableAttempt implements Attempt, AttemptListener, LocalWaiter {
  readonly terms: KeepTerms;
  readonly #books: AttemptBooks;
  readonly #request: GrantRequest;
  readonly #listener: AttemptListener;
  /** The keeping for which it waits in memory. */
  #keeping: Keeping | undefined;
  #lent: Tenant | undefined;
  #inner: Attempt | undefined;
  #withdrawn = false;

  constructor(books: AttemptBooks, terms: KeepTerms, request: GrantRequest, listener: AttemptListener) {
    this.#books = books;
    this.terms = terms;
    this.#request = request;
    this.#listener = listener;
  }

  standFor(keeping: Keeping): this {
    this.#keeping = keeping;
    keeping.wait(this);
    return this;
  }

  /** Throws what the driver throws. */
  ask(): this {
    this.#inner = this.#books.driver.attempt([this.#request], this);
    return this;
  }

  withdraw(): Promise<void> {
    this.#withdrawn = true;
    this.#keeping?.leave(this);
    this.#keeping = undefined;
    const lent = this.#lent;
    if (lent !== undefined) return lent.giveBack(true) ? Promise.resolve() : lent.release().then(() => {});
    // The driver may be running the caller's own code right now, and has then not returned its attempt yet. So it is
    // withdrawn later.
    return this.#inner?.withdraw() ?? Promise.resolve().then(() => this.#inner?.withdraw());
  }

  // -------- in memory

  lent(tenant: Tenant): void {
    this.#keeping = undefined;
    this.#lent = tenant;
    [tenant.state] = this.#listener.granted([tenant]);
  }

  mustWait(): void {
    if (this.#request.mayWait) {
      this.#listener.waiting();
      return;
    }
    this.#keeping?.leave(this);
    this.#keeping = undefined;
    queueMicrotask(() => {
      if (!this.#withdrawn) this.#listener.unavailable();
    });
  }

  askBackend(lost: LossReason | null): void {
    this.#keeping = undefined;
    const connected = this.#books.link.state === "connected";
    if (!connected || lost === "session-expired") {
      this.#listener.sessionEnded({ queued: lost !== null, roundTrips: 0 });
      return;
    }
    if (lost !== null) this.#listener.requeued("entry-gone");
    if (this.#withdrawn) return;
    try {
      // This may run in the release or in the scope of another owner.
      outsideScopes(() => this.ask());
    } catch (error) {
      queueMicrotask(() => {
        if (!this.#withdrawn) this.#listener.failed(error);
      });
    }
  }

  // -------- what the driver's attempt reports

  granted(
    grants: readonly [Grant, ...Grant[]],
    first?: Promise<unknown>,
  ): readonly [GrantState, ...GrantState[]] {
    const keeping = this.#books.granted(this.terms, grants[0]);
    const { tenant } = keeping;
    [tenant.state] = this.#listener.granted([tenant], first);
    return [keeping];
  }

  unavailable(): void {
    this.#listener.unavailable();
  }

  failed(error: unknown): void {
    this.#listener.failed(error);
  }

  sessionEnded(lost: { readonly queued: boolean; readonly roundTrips: number }): void {
    this.#listener.sessionEnded(lost);
  }

  waiting(blockedBy?: Error): void {
    this.#listener.waiting(blockedBy);
  }

  notified(): void {
    this.#listener.notified();
  }

  requeued(reason: "entry-gone"): void {
    this.#listener.requeued(reason);
  }

  sequenceHigh(sequence: number): void {
    this.#listener.sequenceHigh(sequence);
  }
}
