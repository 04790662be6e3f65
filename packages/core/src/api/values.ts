/** Milliseconds. Every duration in the API is a number of milliseconds and its name ends in `Ms`. */
export type Millis = number;

/**
 * Strictly increasing over the *exclusive* grants of one lock name; a shared grant's token is above every exclusive
 * grant before it and below every one after. Hand it to the protected resource and have it refuse a writer whose token is
 * smaller than the largest it has seen. Let it compare tokens of writers only: readers overlap and arrive in any
 * order, and a downgraded read carries the write's token. On the wire: a decimal string.
 */
export type FencingToken = bigint;

/**
 * A fencing token where the backend may have none. Handles of a backend that always has one, such as ZooKeeper and Redis, have a
 * `FencingToken`: `LockProvider<FencingToken>` is such a provider, and fits wherever a `LockProvider` is asked for.
 */
export type AnyToken = FencingToken | null;

/** `"exclusive"`: one holder. `"shared"`: with other shared holds. */
export type LockMode = "exclusive" | "shared";

/**
 * The owner of a hold, for people and for re-entry inside this process. Never sent to the backend: there each grant has a new id of its
 * own, whatever `owner` says, and `HoldInfo.backendId` shows that id.
 */
export interface Owner {
  /** Two owners of one provider are the same if their ids are equal. Not empty. */
  readonly id: string;
  /** A name for people alone; never compared. */
  readonly label?: string;
}

/** The state of a hold, seen from its handle. `"lost"` and `"released"` are final. */
export type HoldState =
  | "held" // the backend has confirmed the hold, and the local deadline is ahead
  | "uncertain" // contact is broken, the deadline is ahead
  | "lost" // ended without `release()`: another client may hold the lock
  | "released"; // by `release()` or `downgrade()`

/** Why a hold ended without `release()`. */
export type LossReason =
  | "lease-expired" // our local deadline passed without a confirmed renewal
  | "lease-missing" // a renewal found the key gone, or held by another client, for no known reason
  | "session-expired" // the session is over
  | "quorum-lost" // RedLock: less than a majority of the nodes keeps the vote
  | "suspended" // contact broke, and the provider has the option to give leadership up then
  | "stolen" // ended by another client: own node deleted while the session lives, or a message of the force script
  | "provider-closed"; // `close()` took it

/** What became of a `release()`. */
export type ReleaseOutcome =
  | "released" // the backend has confirmed
  | "kept" // this handle is released, the provider keeps the lock for its next owner (`keepMs`)
  | "still-held" // this handle is released, the lock is still taken: by a re-entry, or until `holdAtLeastMs` has passed
  | "lost" // the session or the lease was over first
  | "unconfirmed"; // no answer in time: the request goes on in the background

/** What a resource compares to refuse a late writer, see `ProviderOptions.fenceBy`. */
export type FenceBy = "token" | "token-and-turn";

/** Why a provider keeps a lock no longer (`ProviderOptions.keepMs`). */
export type KeepingEndReason =
  | "wanted" // another client wants the lock
  | "idle" // `keepMs` has passed since its last release
  | "max-keep" // `maxKeepMs` has passed since its grant
  | "evicted" // more than `maxKept` locks: this one was idle for the longest time
  | "token-read" // the owner before has read the token, and `fenceBy` is `"token"`
  | "not-lendable" // a request of this provider that it cannot be lent to: another side or lease, `fresh: true`, a joint grant
  | "released" // `release({ keep: false })`
  | "lost" // contact broke, the session or the lease is over, or the entry is gone
  | "closed"; // `close()` was called

/** ZooKeeper: the session. Redis: the command connection, or a majority of them. */
export type SessionState = "connecting" | "connected" | "suspended" | "lost";

/** An age at `takenAt`, and how it is known. Never invented: `value` is `null` when `provenance` is `"unknown"`. */
export interface Age {
  /** Milliseconds; `null` when it is not known. */
  readonly value: Millis | null;
  /** `"at-least"`: it is this old or older. */
  readonly provenance: "exact" | "at-least" | "unknown";
}
