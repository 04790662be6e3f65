import type { Attempt, AttemptListener, Grant, GrantRequest, GrantState, LockDriver } from "../api/driver.js";
import type { BackendLink } from "../api/link.js";
import type { LossReason } from "../api/values.js";
import { outsideScopes } from "../scope-store.js";
import type { KeepTerms } from "./keep-terms.js";
import type { Keeping, LocalWaiter, Tenant } from "./keeping.js";

/** What it needs of the books of its provider. */
export interface AttemptBooks {
  readonly driver: LockDriver;
  readonly link: BackendLink;
  /** The driver has granted this to the provider. */
  granted(terms: KeepTerms, grant: Grant): Keeping;
}

/**
 * One attempt for a lock that may be kept, between core's claim and the driver: it is lent what the provider keeps, or stands in memory for
 * it, or asks the driver, and then wraps what the driver grants.
 */
export class KeepableAttempt implements Attempt, AttemptListener, LocalWaiter {
  readonly terms: KeepTerms;
  readonly #books: AttemptBooks;
  readonly #request: GrantRequest;
  readonly #listener: AttemptListener;
  /** Where it stands in memory. */
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
    // The driver may be asking code of the caller's right now: then there is no attempt of the driver's yet.
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
      // Another owner's release or its scope may have led here.
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
