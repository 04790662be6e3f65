/** Milliseconds. Every duration in the API is a number of milliseconds and its name ends in `Ms`. */
export type Millis = number;

/**
 * A number that strictly increases over the *exclusive* grants of one lock name. The token of a shared grant is above that of
 * every exclusive grant before it and below that of every one after it. Pass the token to the protected resource, which refuses
 * a writer whose token is smaller than the largest that it has seen. The resource must compare tokens of writers only: readers
 * overlap and arrive in any order, and a downgraded read has the token of its write. On the wire it is a decimal string.
 */
export type FencingToken = bigint;

/**
 * A fencing token, or `null` where the backend has none. Handles of a backend that always has one, such as ZooKeeper and
 * Redis, have a `FencingToken`. The provider of such a backend is a `LockProvider<FencingToken>`, which can be used wherever
 * a `LockProvider` is expected.
 */
export type AnyToken = FencingToken | null;

/** `"exclusive"`: one holder. `"shared"`: together with other shared holds. */
export type LockMode = "exclusive" | "shared";

/**
 * The owner of a hold, for people and for re-entry inside this process. It is never sent to the backend. There each grant has
 * a new id of its own, whatever `owner` says; `HoldInfo.backendId` shows that id.
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
  | "uncertain" // contact is broken or the machine may have slept, the deadline is ahead
  | "lost" // ended without `release()`: another client may hold the lock
  | "released"; // ended by `release()` or `downgrade()`

/** Why a hold ended without `release()`. */
export type LossReason =
  | "lease-expired" // our local deadline passed without a confirmed renewal
  | "lease-missing" // a renewal found the key gone, or held by another client, for no known reason
  | "session-expired" // the session is over
  | "quorum-lost" // RedLock: less than a majority of the nodes keeps the vote
  | "suspended" // contact broke, and an option of the provider says that a leader then gives up its term
  | "stolen" // another client ended it: our node was deleted while our session lives, or the force script sent a message
  | "provider-closed"; // `close()` of the provider ended it

/** What became of a `release()`. */
export type ReleaseOutcome =
  | "released" // the backend has confirmed
  | "kept" // this handle is released, the provider keeps the lock for its next owner (`keepMs`)
  | "still-held" // this handle is released, the lock is still taken: by a re-entry, or until `holdAtLeastMs` has passed
  | "lost" // the session or the lease was over first
  | "unconfirmed"; // no answer came in time: the request goes on in the background

/** What a resource compares to refuse a late writer, see `ProviderOptions.fenceBy`. */
export type FenceBy = "token" | "token-and-turn";

/** Why a provider stopped keeping a lock (`ProviderOptions.keepMs`). */
export type KeepingEndReason =
  | "wanted" // another client wants the lock
  | "idle" // `keepMs` has passed since its last release
  | "max-keep" // `maxKeepMs` has passed since its grant
  | "evicted" // more than `maxKept` locks: this one was idle for the longest time
  | "token-read" // its last owner has read the token, and `fenceBy` is `"token"`
  | "not-lendable" // this provider made a request that the kept lock cannot serve: another side or lease, `fresh`, a joint grant
  | "released" // `release({ keep: false })`
  | "lost" // contact broke, the session or the lease is over, or the entry is gone
  | "closed"; // `close()` was called

/** The state of a connection. ZooKeeper: of the session. Redis: of the command connection. RedLock: of a majority of those. */
export type SessionState = "connecting" | "connected" | "suspended" | "lost";

/** An age at the time `takenAt`, and how it is known. It is never a guess: `value` is `null` when `provenance` is `"unknown"`. */
export interface Age {
  /** Milliseconds; `null` when it is not known. */
  readonly value: Millis | null;
  /** `"at-least"`: it is this old or older. */
  readonly provenance: "exact" | "at-least" | "unknown";
}
