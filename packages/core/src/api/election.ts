import type { AcquireOptions, ScopeContext } from "./acquiring.js";
import type { LockHandle } from "./handle.js";

export interface Participant {
  readonly id: string;
  readonly label?: string;
  readonly leader: boolean;
}

export interface LeaderElection {
  readonly name: string;
  /** Stand once. The handle is the term of office; `lost` is deposition; `release()` is resignation. */
  campaign(options?: AcquireOptions): Promise<LeadershipHandle>;

  /** Stand again after each loss until `signal` aborts. The body is told to stop through its context. */
  lead(
    options: AcquireOptions & { signal: AbortSignal },
    body: (term: LeadershipHandle, context: ScopeContext) => PromiseLike<void> | void,
  ): Promise<void>;

  leader(): Promise<Participant | null>;
  participants(): Promise<readonly Participant[]>;

  /** The present leader at once, then each change. Coalesces: slow readers see the latest, not all. */
  observe(options?: { signal?: AbortSignal }): AsyncIterable<Participant | null>;
}

export interface LeadershipHandle extends LockHandle {
  /** Change what other participants see, without an election. */
  announce(label: string): Promise<void>;
}
