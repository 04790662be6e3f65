/** A value as it was at one moment. */
export interface Versioned<T> {
  /** The value as it was read. */
  readonly value: T;
  /**
   * Grows with each write, also when the node is deleted and made again. It falls only if an ensemble is restored from an
   * older snapshot. It is only good for comparisons: differences mean nothing.
   */
  readonly version: bigint;
}

/**
 * Curator's `SharedValue` and `SharedCount`: one node that all clients may read, write, and watch.
 *
 * Calls wait for a connection for at most `connectTimeoutMs`, and then reject with a retryable `BackendError`. If the
 * answer to a write was lost, the write is sent again only if the node shows that it was not applied. If the node does
 * not show that, or cannot be read within `connectTimeoutMs`, the call rejects with a `BackendError` that is not
 * retryable, and whose message says so.
 *
 * Calls also reject with `BackendError` when the server refuses, and with `ProviderClosedError`. They reject with
 * `LayoutConflictError` when the node's data does not have the size of the value, and with `InvalidArgumentError` for a
 * value of another type or range.
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
  /** The present value. If there is no node, it is created with the seed. One server answers, which may be a moment behind. */
  get(): Promise<Versioned<T>>;
  /** Writes the value, whatever the present one is. */
  set(value: T): Promise<void>;
  /**
   * Writes the value only if the present version is still that of `seen`, which `get()` or `observe()` returned. `false`:
   * the version is another one (also because the node was deleted and made again), and nothing was written.
   */
  trySet(seen: Versioned<T>, value: T): Promise<boolean>;
  /**
   * Yields the present value at once, and then each change. A reader that is slower than the changes gets the latest
   * value and not all of them. It goes on through outages. It ends without an error when `signal` aborts, and with
   * `ProviderClosedError` when the provider closes. On a closed provider it throws that error at once.
   */
  observe(options?: { signal?: AbortSignal }): AsyncIterable<Versioned<T>>;
}

/**
 * Curator's `DistributedAtomicLong`: a signed number of 64 bits. Calls reject as those of `SharedValue`. An update that
 * resolves was applied exactly once. An update that rejects with a `BackendError` that is not retryable was applied once
 * or not at all.
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
  /** The present value; 0 if there is no node. */
  get(): Promise<bigint>;
  /**
   * Adds `delta` and resolves with the value after that. If the sum does not fit into 64 bits, it changes nothing and
   * rejects with `InvalidArgumentError`; Curator wraps around there.
   */
  add(delta: bigint): Promise<bigint>;
  /** Writes the value, whatever the present one is. */
  set(value: bigint): Promise<void>;
  /**
   * Writes `value` if the present one is `expected`. `false`: it is another one, or there is no node, and nothing was
   * written.
   */
  compareAndSet(expected: bigint, value: bigint): Promise<boolean>;
}

/** A present member of a group. */
export interface GroupMember {
  /** The name of its node. */
  readonly id: string;
  /** The data that it gave when it joined. */
  readonly data: Uint8Array;
}

/** Curator's `GroupMember`: an ephemeral node for each member, named by its id. */
export interface GroupMembership {
  /** The name as it was given to the provider. */
  readonly name: string;
  /**
   * Adds a member, which is present until the result is disposed. Its node is created again after a lost session, and
   * after another client has deleted it. `id` is one segment of a path. `data` defaults to this host's address, as in
   * Curator.
   *
   * Rejects with `LayoutConflictError` while another session has a member with that id, with `InvalidArgumentError`, with
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
  /** Yields the present members at once, and then each change of them or of their data; otherwise as `SharedValue.observe()`. */
  observe(options?: { signal?: AbortSignal }): AsyncIterable<readonly GroupMember[]>;
}

/** One step of `ZooKeeperLocks.guarded()`. Its path is like the name of a lock: an absolute one is below chroot and namespace. */
export type GuardedOp = GuardedCreate | GuardedSet | GuardedDelete;

/** Makes a node. */
export interface GuardedCreate {
  /** The kind of the step. */
  readonly op: "create";
  /** The node to make. Its parent must exist. */
  readonly path: string;
  /** The data of the node. Default: none. */
  readonly data?: Uint8Array;
}

/** Writes a node that exists. */
export interface GuardedSet {
  /** The kind of the step. */
  readonly op: "set";
  /** The node that is written. */
  readonly path: string;
  /** The new data. */
  readonly data: Uint8Array;
  /** The version that the node must have. Default: any. */
  readonly version?: number;
}

/** Deletes a node without children, or requires that a node exists. */
export interface GuardedDelete {
  /** The kind of the step. */
  readonly op: "delete" | "check";
  /** The node to delete or to require. */
  readonly path: string;
  /** The version that the node must have. Default: any. */
  readonly version?: number;
}
