import type { PrimitiveKind } from "./capabilities.js";
import type { Age, FencingToken, LockMode, Millis, Owner } from "./values.js";

/** The options of `inspect()`. */
export interface InspectOptions {
  /** Ends the wait for the answer: the promise rejects with `signal.reason`. Default: none. */
  signal?: AbortSignal;
  /**
   * The most entries in `pending`, so that a queue of 100,000 cannot hurt a dashboard. A whole number, 0 or more. Default
   * 1,000 on ZooKeeper and Redis, and no bound in memory.
   */
  maxPending?: number;
}

/**
 * The library whose layout an entry has. holdfast uses the layouts of Curator and Redisson, so its entries show as those of
 * Curator or Redisson, unless they carry the provider's `identity` or belong to the provider that makes the snapshot.
 */
export type Recognised = "holdfast" | "curator" | "kazoo" | "redisson" | "unknown";

/** One client that holds or waits, as the backend shows it. */
export interface ParticipantInfo {
  /** `null` unless the hold is one of this provider: owners are never sent to the backend. */
  readonly owner: Owner | null;
  /** What it publishes about itself (`identity`, node data), as text; `null` when there is nothing that can be printed. */
  readonly label: string | null;
  /** Whether it holds the lock, or asks for it, alone or shared. */
  readonly mode: LockMode;
  /** The backend's own name for this entry: a node path, a hash field. */
  readonly backendId: string;
  /** ZooKeeper: the session id as unsigned hex. Redis: the client's UUID. `null` where the entry does not show it. */
  readonly session: string | null;
  /** `host:port` where the backend shows it, otherwise the address in the node data; `null` where there is neither. */
  readonly address: string | null;
  /** The library that made its entry, as far as the entry shows it. */
  readonly recognisedAs: Recognised;
  /** How long it has held or waited, in milliseconds, and how that is known. */
  readonly sinceMs: Age;
}

/** One hold. A semaphore has one for each permit. */
export interface HoldInfo extends ParticipantInfo {
  /** The fencing token of the grant; `null` where the backend does not show it. */
  readonly token: FencingToken | null;
  /**
   * How often its owner has entered. Exact for the holds of this provider and for those of Redisson, 1 for all
   * others.
   */
  readonly holdCount: number;
  /** `true` for a hold of the provider that made this snapshot. */
  readonly heldByThisProvider: boolean;
  /** Milliseconds that are left of the lease, by the backend's clock; `null` for holds without a lease. */
  readonly remainingMs: Millis | null;
  /**
   * Whether the lock is held while no owner has it, because its provider keeps it for the next owner
   * (`ProviderOptions.keepMs`). `true`: this provider keeps it, and then `owner` is `null` and `holdCount` 0. `null`: another
   * process may keep it; only that process knows.
   */
  readonly kept: boolean | null;
}

/** One waiter. */
export interface WaitInfo extends ParticipantInfo {
  /** 0 is next. `null` where the backend has no order. */
  readonly position: number | null;
}

/**
 * A lock as it was when the backend was asked. It is already old: never a basis for deciding who may act.
 * `JSON.stringify` accepts it, and writes tokens as decimal strings. A copy by spread that also copies the entries of
 * `held` is no longer accepted.
 */
export interface LockSnapshot {
  /** The name of the lock, as it was given to the provider. */
  readonly name: string;
  /** When the backend was asked, by the clock of this process. */
  readonly takenAt: Date;
  /** The kind as found in the backend, which may differ from what was asked for; `null` when nothing is there. */
  readonly kind: PrimitiveKind | null;
  /** The holders; more than one where readers share the lock, and one for each permit of a semaphore. */
  readonly held: readonly HoldInfo[];
  /** The first waiters, in the order of the queue where there is one; at most `maxPending` of them. */
  readonly pending: readonly WaitInfo[];
  /** `null` where waiters leave no trace in the backend that could be counted. */
  readonly pendingTotal: number | null;
}

/** A semaphore as it was when the backend was asked. It is already old: never a basis for deciding who may act. */
export interface SemaphoreSnapshot extends LockSnapshot {
  /** How many permits there are in all, as `Semaphore.limit()` says. */
  readonly limit: number;
  /** How many permits of the limit are not held; never below 0. */
  readonly available: number;
}
