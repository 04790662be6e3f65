import type { AcquireOptions, ScopeContext } from "./acquiring.js";
import type { LockHandle } from "./handle.js";

export interface Participant {
  /** The backend's own name for this candidacy: another one for each term, and for each client. */
  readonly id: string;
  readonly label?: string;
  readonly leader: boolean;
}

/** Those of an acquire, without `holdAtLeastMs`: a term of office ends with its leader. */
export type CandidacyOptions = Omit<AcquireOptions, "holdAtLeastMs">;

export interface LeaderElection {
  readonly name: string;
  /**
   * Stand once. The handle is the term of office; `lost` is deposition; `release()` is resignation. Here `label` is what all
   * others see, so unlike that of a lock it always leaves the process.
   */
  campaign(options?: CandidacyOptions): Promise<LeadershipHandle>;

  /**
   * Leads whenever elected until `signal` aborts or the provider closes, which are its normal ends, and resolves once the
   * body has ended and nothing is held. Stands again, at the tail, after each loss and each time the body returns. The signal
   * of the body's context says when to stop. `close({ graceMs })` aborts that signal when it is called, and the term stays
   * until the body ends or the grace is over. Rejects with the body's own error, after giving back; what only repeats that
   * the term is over or that the provider closes (the reason of the context's signal, or Node's `AbortError` caused by it, or
   * this provider's `ProviderClosedError`) is no such error. On a provider that is closed already it resolves at once.
   * Rejects with `AcquireTimeoutError` when one candidacy waits longer than `waitMs`, with `EvictedError` when somebody deletes it, and with a `BackendError` that
   * the provider's retry policy gives up on; an aborted `signal` beats all of these.
   */
  lead(
    options: CandidacyOptions & { signal: AbortSignal },
    body: (term: LeadershipHandle, context: ScopeContext) => PromiseLike<void> | void,
  ): Promise<void>;

  /** `null`: nobody leads. As all that follows a picture, already old: never a basis for deciding who may act. */
  leader(): Promise<Participant | null>;
  /** The leader first, then the candidates in the order in which they will lead, where the backend has one. */
  participants(): Promise<readonly Participant[]>;

  /**
   * The present leader at once, then each change, also of the leader's label. Coalesces: slow readers see the latest, not all. Goes
   * on through outages. Ends plainly when `signal` aborts, with `ProviderClosedError` when the provider closes. Throws
   * `UnsupportedError` at once where the backend does not tell of changes.
   */
  observe(options?: { signal?: AbortSignal }): AsyncIterable<Participant | null>;
}

export interface LeadershipHandle extends LockHandle {
  /**
   * Changes the label that everybody sees, without an election. Rejects with `NotHeldError` after the release, with
   * `LockLostError` after or upon the loss, and with `UnsupportedError` where the backend shows no labels. After a retryable
   * `BackendError` the label may or may not have changed.
   */
  announce(label: string): Promise<void>;
}
