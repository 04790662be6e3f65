/** A value as it was at one moment. */
export interface Versioned<T> {
  /** The value as it was read. */
  readonly value: T;
  /** Grows with each write, also over a delete and a new node. Says nothing else. */
  readonly version: bigint;
}

/**
 * Curator's `SharedValue` and `SharedCount`: one node that all may read, write, and watch.
 *
 * Calls wait for a connection for `connectTimeoutMs` at most and then reject with a retryable `BackendError`. A write whose
 * answer was lost is sent again only where the node shows that it was not applied; where nobody can tell, it rejects with
 * a `BackendError` that is not retryable and says so. Data of another size rejects with `LayoutConflictError`.
 */
export interface SharedValue<T> {
  /** The name as it was given to the provider. */
  readonly name: string;
  /** Makes the node with the seed where there is none. Reads one server, which may be a moment behind. */
  get(): Promise<Versioned<T>>;
  /** Writes whatever is there. */
  set(value: T): Promise<void>;
  /** `false` when the version has moved on, also over a delete and a new node, and nothing was written. */
  trySet(seen: Versioned<T>, value: T): Promise<boolean>;
  /** The present value at once, then each change. Coalesces. */
  observe(options?: { signal?: AbortSignal }): AsyncIterable<Versioned<T>>;
}

/**
 * Curator's `DistributedAtomicLong`: a signed number of 64 bits. Waits, lost answers and foreign data as for `SharedValue`:
 * each update that is confirmed counts exactly once, and one of which nobody can tell counts once or not at all.
 */
export interface AtomicLong {
  /** The name as it was given to the provider. */
  readonly name: string;
  /** 0 where there is no node. */
  get(): Promise<bigint>;
  /** The value after it. Refuses with `InvalidArgumentError` what would leave 64 bits, where Java goes on at the other end. */
  add(delta: bigint): Promise<bigint>;
  /** Writes whatever is there. */
  set(value: bigint): Promise<void>;
  /** `false` when the value is another, and where there is no node. */
  compareAndSet(expected: bigint, value: bigint): Promise<boolean>;
}

/** A member that is present. */
export interface GroupMember {
  /** The name of its node. */
  readonly id: string;
  /** What it gave when it joined. */
  readonly data: Uint8Array;
}

/** Curator's `GroupMember`: an ephemeral node for each member, named by its id. */
export interface GroupMembership {
  /** The name as it was given to the provider. */
  readonly name: string;
  /**
   * Present until disposed: put back after a lost session, and when somebody deletes the node. `data` defaults to this host's
   * address, as in Curator. Rejects with `LayoutConflictError` while another session has a member of that id.
   */
  join(id: string, data?: Uint8Array): Promise<AsyncDisposable>;
  /** Ordered by id. */
  members(): Promise<readonly GroupMember[]>;
  /** The present members at once, then each change of them or of their data. Coalesces. */
  observe(options?: { signal?: AbortSignal }): AsyncIterable<readonly GroupMember[]>;
}
