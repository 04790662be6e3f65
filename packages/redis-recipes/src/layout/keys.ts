import { prefixed, suffixed } from "./names.js";

/** Redisson's plain mutex, with our queue beside it. The same keys carry the re-entrant mutex and leadership. */
export interface MutexKeys {
  /** Hash: one field, owner to hold count. Redisson's. */
  readonly lock: string;
  /** String: the last fencing token. Redisson's `RFencedLock` counts on in it. */
  readonly token: string;
  /** List: our waiters, oldest first, each `<owner> <leaseMs>`. Ours. */
  readonly waiters: string;
  /** Sorted set: waiting owner, and the server time in ms until which it counts as alive. Ours. */
  readonly alive: string;
  /**
   * String: how many direct hand-offs there were in a row. Of a read-write lock also `r<server ms>`: until when readers may pass
   * a waiting writer. Ours.
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

/** Redisson's fair lock; the queue and its deadlines are shared with Java, the liveness of our own entries is kept beside. */
export interface FairKeys {
  readonly lock: string;
  readonly token: string;
  /** List: owners in order. Redisson's, no TTL. */
  readonly queue: string;
  /** Sorted set: owner, and the ms after which any client may sweep it. Redisson's, no TTL. */
  readonly deadlines: string;
  /** Sorted set: our own waiting owners alone. Ours. */
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

/** Redisson's read-write lock. The queue is that of our writers. */
export interface ReadWriteKeys extends MutexKeys {
  /** Begins every read-hold key: append `<owner>:rwlock_timeout:<level>`. */
  readonly holdPrefix: string;
}

export function readWriteKeys(name: string): ReadWriteKeys {
  return { ...mutexKeys(name), holdPrefix: suffixed(name, "") };
}

/** The key of one read hold: string `1`, its TTL the lease of that hold. Level 1 for ours always, Redisson counts re-entries. */
export function readHoldKey(name: string, owner: string, level = 1): string {
  return suffixed(name, `${owner}:rwlock_timeout:${level}`);
}

/** In the order in which scripts take them that are about the hold of one reader. */
export function readHoldKeyList(name: string, owner: string): readonly string[] {
  return [...mutexKeyList(mutexKeys(name)), readHoldKey(name, owner)];
}

/** Redisson's semaphore without leases. */
export interface SemaphoreKeys {
  /** String: free permits, may be below zero. */
  readonly permits: string;
  readonly token: string;
  /** Begins the marker of one take: append the owner. Ours; makes takes and gives safe to send again. */
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
  /** Sorted set: permit id of 16 raw bytes, and when it expires in ms. */
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
 * Leadership is a mutex on a name of our own, so it never meets a lock of the same name. Redisson has no election.
 * `labels` is a hash, owner to label, of the candidates and the leader.
 */
export interface ElectionKeys extends MutexKeys {
  readonly labels: string;
}

export function electionKeys(name: string): ElectionKeys {
  const lock = prefixed("holdfast_election", name);
  return { ...mutexKeys(lock), labels: prefixed("holdfast_labels", name) };
}

/** Shut while the key exists. Redisson has no barrier. */
export interface BarrierKeys {
  readonly shut: string;
}

export function barrierKeys(name: string): BarrierKeys {
  return { shut: prefixed("holdfast_barrier", name) };
}

/** A text. Redisson would keep it in an `RBucket`, whose name is the key itself. */
export interface RecordKeys {
  readonly text: string;
}

export function recordKeys(name: string): RecordKeys {
  return { text: prefixed("holdfast_record", name) };
}

/** Redisson has no double barrier. */
export interface DoubleBarrierKeys {
  /** String `1`: the barrier was full, and each member that comes passes until all have left. */
  readonly full: string;
  /** Sorted set: who is in, and the server time in ms until which it counts as alive. */
  readonly members: string;
}

export function doubleBarrierKeys(name: string): DoubleBarrierKeys {
  return {
    full: prefixed("holdfast_double_barrier", name),
    members: prefixed("holdfast_double_barrier_members", name),
  };
}
