/** Milliseconds. Every duration in the API is a number of milliseconds and its name ends in `Ms`. */
export type Millis = number;

/**
 * Strictly increasing over the *exclusive* grants of one lock name; a shared grant's token is above every exclusive
 * grant before it and below every one after. Hand it to the protected resource and have it refuse a writer whose token is
 * smaller than the largest it has seen. Let it compare tokens of writers only: readers overlap and arrive in any
 * order, and a downgraded read carries the write's token. On the wire: a decimal string.
 */
export type FencingToken = bigint;

export type LockMode = "exclusive" | "shared";

/**
 * Who holds, for people and for re-entry inside this process. Never on the wire: the wire owner is drawn fresh for each
 * backend grant (`<provider uuid>:<counter>`), whatever `owner` says; `HoldInfo.backendId` shows it.
 */
export interface Owner {
  readonly id: string;
  readonly label?: string;
}

export type HoldState =
  | "held" // the backend has confirmed us and the local deadline is ahead
  | "uncertain" // contact is broken, the deadline is ahead
  | "lost"
  | "released";

export type LossReason =
  | "lease-expired" // our local deadline passed without a confirmed renewal
  | "lease-missing" // a renewal found the key gone or another's, and nobody said why
  | "session-expired"
  | "quorum-lost"
  | "suspended" // contact broke, and the provider is told to give leadership up then
  | "stolen" // ended by somebody else: own node deleted while the session lives, or a force script told us
  | "provider-closed";

export type ReleaseOutcome =
  | "released"
  | "still-held" // this handle is released, the lock is still taken: by a re-entry, or until `holdAtLeastMs` has passed
  | "lost"
  | "unconfirmed";

/** ZooKeeper: the session. Redis: the command connection, or a majority of them. */
export type SessionState = "connecting" | "connected" | "suspended" | "lost";

/** An age at `takenAt`, and how it is known. Never invented: `value` is `null` when `provenance` is `"unknown"`. */
export interface Age {
  readonly value: Millis | null;
  readonly provenance: "exact" | "at-least" | "unknown";
}
