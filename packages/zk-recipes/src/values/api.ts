/** A value as it was at one moment. */
export interface Versioned<T> {
  /** The value as it was read. */
  readonly value: T;
  /**
   * Grows with each write, also over a delete and a new node; it falls only where an ensemble is restored from an older snapshot. It is for comparing
   * alone: differences mean nothing.
   */
  readonly version: bigint;
}

/**
 * Curator's `SharedValue` and `SharedCount`: one node that all may read, write, and watch.
 *
 * Calls wait for a connection for `connectTimeoutMs` at most and then reject with a retryable `BackendError`. A write whose
 * answer was lost is sent again only where the node shows that it was not applied; where the node does not show it, or cannot be
 * read within `connectTimeoutMs`, the call rejects with a `BackendError` that is not retryable and says so. Calls also reject with a `BackendError` when the server
 * refuses, with `LayoutConflictError` when the node's data does not have the size of the value, with `InvalidArgumentError`
 * for a value of another type or range, and with `ProviderClosedError`.
 *
 * @example
 * ```ts
 * const workers = locks.sharedCount("workers", 4);
 * const seen = await workers.get();
 * const changed = await workers.trySet(seen, seen.value + 1); // `false`: another client was faster
 * ```
 */
export interface SharedValue<T> {
  /** The name as it was given to the provider. */
  readonly name: string;
  /** The present value; creates the node with the seed where there is none. Asks one server, which may be a moment behind. */
  get(): Promise<Versioned<T>>;
  /** Writes the value, whatever the present one is. */
  set(value: T): Promise<void>;
  /**
   * Writes the value only if the present version is that of `seen`, which `get()` or `observe()` has given. `false`: the
   * version is another one, also after a delete and a new node, and nothing was written.
   */
  trySet(seen: Versioned<T>, value: T): Promise<boolean>;
  /**
   * Yields the present value at once, then each change. A reader that is slower than the changes gets the latest one and not
   * all. Goes on through outages. Ends without an error when `signal` aborts, and with `ProviderClosedError` when the provider
   * closes; on a closed provider it throws that at once.
   */
  observe(options?: { signal?: AbortSignal }): AsyncIterable<Versioned<T>>;
}

/**
 * Curator's `DistributedAtomicLong`: a signed number of 64 bits. Calls reject as those of `SharedValue`. An update that
 * resolves was applied exactly once; one that rejects with a `BackendError` that is not retryable was applied once or not at
 * all.
 *
 * @example
 * ```ts
 * const invoiceNumber = await locks.atomicLong("invoices").add(1n);
 * console.log(`invoice ${invoiceNumber}`);
 * ```
 */
export interface AtomicLong {
  /** The name as it was given to the provider. */
  readonly name: string;
  /** The present value; 0 where there is no node. */
  get(): Promise<bigint>;
  /**
   * Adds `delta` and resolves with the value after that. Rejects with `InvalidArgumentError`, and changes nothing, where the
   * sum does not fit into 64 bits; Curator goes on at the other end there.
   */
  add(delta: bigint): Promise<bigint>;
  /** Writes the value, whatever the present one is. */
  set(value: bigint): Promise<void>;
  /** Writes `value` if the present one is `expected`. `false`: it is another one, or there is no node; nothing was written. */
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
   * Adds a member, which is present until the result is disposed: its node is created again after a lost session, and after
   * another client has deleted it. `id` is one segment of a path. `data` defaults to this host's address, as in Curator.
   * Rejects with `LayoutConflictError` while another session has a member of that id, with `InvalidArgumentError`, with
   * `BackendError` when there is no connection within `connectTimeoutMs` or the server refuses, and with
   * `ProviderClosedError`.
   *
   * @example
   * ```ts
   * const workers = locks.groupMembership("workers");
   * await using _ = await workers.join("worker-1");
   * console.log((await workers.members()).map(({ id }) => id));
   * ```
   */
  join(id: string, data?: Uint8Array): Promise<AsyncDisposable>;
  /** The present members, ordered by id. Rejects with `BackendError` and `ProviderClosedError`. */
  members(): Promise<readonly GroupMember[]>;
  /** Yields the present members at once, then each change of them or of their data; otherwise as `SharedValue.observe()`. */
  observe(options?: { signal?: AbortSignal }): AsyncIterable<readonly GroupMember[]>;
}

/** One step of `ZooKeeperLocks.guarded()`. Paths are as the names of locks: absolute ones stand below chroot and namespace. */
export type GuardedOp = GuardedCreate | GuardedSet | GuardedDelete;

/** Makes a node. */
export interface GuardedCreate {
  /** The kind of the step. */
  readonly op: "create";
  /** Its parent has to be there. */
  readonly path: string;
  /** Default none. */
  readonly data?: Uint8Array;
}

/** Writes a node that is there. */
export interface GuardedSet {
  /** The kind of the step. */
  readonly op: "set";
  /** The node that is written. */
  readonly path: string;
  /** What it has after that. */
  readonly data: Uint8Array;
  /** Only of just this version. Default: of any. */
  readonly version?: number;
}

/** Deletes a node without children, or demands that a node is there. */
export interface GuardedDelete {
  /** The kind of the step. */
  readonly op: "delete" | "check";
  /** The node that is deleted or demanded. */
  readonly path: string;
  /** Only of just this version. Default: of any. */
  readonly version?: number;
}
