import { prefixed, suffixed } from "./names.js";

/** Redisson's plain mutex, with our queue beside it. The re-entrant mutex and leadership use the same keys. */
export interface MutexKeys {
  /** Hash with one field: the owner, and its hold count. Redisson's. */
  readonly lock: string;
  /** String: the last fencing token. Redisson's `RFencedLock` continues from it. */
  readonly token: string;
  /** List: our waiters, oldest first, each `<owner> <leaseMs>`. Ours. */
  readonly waiters: string;
  /** Sorted set: waiting owner, and the server time in ms until which it counts as alive. Ours. */
  readonly alive: string;
  /**
   * String: how many hand-offs there were in a row and when the first was, or until when it is Java's turn (`j<server ms>`). For
   * a read-write lock also `r<server ms>`: until when readers may pass a waiting writer. Ours.
   */
  readonly run: string;
}

export function mutexKeys(name: string): MutexKeys {
  return {
    lock: name,
    token: prefixed("redisson_lock_token", name),
    waiters: prefixed("holdfast_waiters", name),
    alive: prefixed("holdfast_alive", name),
    run: prefixed("holdfast_run", name),
  };
}

/** In the order in which the scripts take them. */
export function mutexKeyList(keys: MutexKeys): readonly string[] {
  return [keys.lock, keys.token, keys.waiters, keys.alive, keys.run];
}

/**
 * Redisson's fair lock. Java clients share the queue and its deadlines. How long our own entries count as alive is kept beside
 * them.
 */
export interface FairKeys {
  readonly lock: string;
  readonly token: string;
  /** List: owners in order. Redisson's, no TTL. */
  readonly queue: string;
  /** Sorted set: the owner, and the time in ms after which any client may remove it. Redisson's, no TTL. */
  readonly deadlines: string;
  /** Sorted set: only our own waiting owners. Ours. */
  readonly alive: string;
}

export function fairKeys(name: string): FairKeys {
  return {
    lock: name,
    token: prefixed("redisson_lock_token", name),
    queue: prefixed("redisson_lock_queue", name),
    deadlines: prefixed("redisson_lock_timeout", name),
    alive: prefixed("holdfast_alive", name),
  };
}

export function fairKeyList(keys: FairKeys): readonly string[] {
  return [keys.lock, keys.token, keys.queue, keys.deadlines, keys.alive];
}

/** Redisson's read-write lock. The queue holds only our writers. */
export interface ReadWriteKeys extends MutexKeys {
  /** The start of every read-hold key; `<owner>:rwlock_timeout:<level>` follows. */
  readonly holdPrefix: string;
}

export function readWriteKeys(name: string): ReadWriteKeys {
  return { ...mutexKeys(name), holdPrefix: suffixed(name, "") };
}

/**
 * The key of one read hold: a string `1` whose TTL is the lease of that hold. Our holds always have level 1; Redisson counts
 * re-entries.
 */
export function readHoldKey(name: string, owner: string, level = 1): string {
  return suffixed(name, `${owner}:rwlock_timeout:${level}`);
}

/** In the order in which scripts for the hold of one reader take them. */
export function readHoldKeyList(name: string, owner: string): readonly string[] {
  return [...mutexKeyList(mutexKeys(name)), readHoldKey(name, owner)];
}

/** Redisson's semaphore without leases. */
export interface SemaphoreKeys {
  /** String: the number of free permits; it may be below zero. */
  readonly permits: string;
  readonly token: string;
  /** The start of the key of a take's marker; the owner follows. Ours; makes takes and gives safe to send again. */
  readonly markerPrefix: string;
}

export function semaphoreKeys(name: string): SemaphoreKeys {
  return {
    permits: name,
    token: prefixed("redisson_lock_token", name),
    markerPrefix: suffixed(name, "holdfast_take:"),
  };
}

/** Redisson's semaphore with leases. */
export interface PermitKeys {
  /** String: free permits. */
  readonly permits: string;
  /** Sorted set: the permit id of 16 raw bytes, and the time in ms at which it expires. */
  readonly grants: string;
  readonly token: string;
}

export function permitKeys(name: string): PermitKeys {
  return {
    permits: name,
    grants: suffixed(name, "timeout"),
    token: prefixed("redisson_lock_token", name),
  };
}

export function permitKeyList(keys: PermitKeys): readonly string[] {
  return [keys.permits, keys.grants, keys.token];
}

/** The score that Redisson gives to a permit which never expires. */
export const neverExpiresMs = 922_337_203_685_477;

/**
 * Leadership is a mutex under a name of our own, so it never collides with a lock of the same name. Redisson has no election.
 * `labels` is a hash from owner to label, for the candidates and the leader.
 */
export interface ElectionKeys extends MutexKeys {
  readonly labels: string;
}

export function electionKeys(name: string): ElectionKeys {
  const lock = prefixed("holdfast_election", name);
  return { ...mutexKeys(lock), labels: prefixed("holdfast_labels", name) };
}

/** The barrier is shut while the key exists. Redisson has no barrier. */
export interface BarrierKeys {
  readonly shut: string;
}

export function barrierKeys(name: string): BarrierKeys {
  return { shut: prefixed("holdfast_barrier", name) };
}

/** A text. Redisson would keep it in an `RBucket`, which uses the plain name as its key. */
export interface RecordKeys {
  readonly text: string;
}

export function recordKeys(name: string): RecordKeys {
  return { text: prefixed("holdfast_record", name) };
}

/** Redisson has no double barrier. */
export interface DoubleBarrierKeys {
  /** String `1`: the barrier became full. Each member that comes passes until all have left. */
  readonly full: string;
  /** Sorted set: the members that are in, and the server time in ms until which each counts as alive. */
  readonly members: string;
}

export function doubleBarrierKeys(name: string): DoubleBarrierKeys {
  return {
    full: prefixed("holdfast_double_barrier", name),
    members: prefixed("holdfast_double_barrier_members", name),
  };
}
