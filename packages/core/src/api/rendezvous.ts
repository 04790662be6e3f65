import type { AcquireOptions } from "./acquiring.js";

/**
 * A count that clients take down, and that others wait for to be zero; once it is zero it can be set again. Redisson:
 * `RCountDownLatch`. Curator has none: on ZooKeeper the layout is a new one, and Java may read it and take it down by a
 * `SharedCount`.
 *
 * Waits, of this and of the barriers, reject with `AcquireTimeoutError` at `waitMs` (`0` asks once), with
 * `signal.reason`, with `ProviderClosedError`, with `InvalidArgumentError` for wrong options, and with `BackendError` where no server
 * has answered in time: at `waitMs`, or after `connectTimeoutMs` without contact. A wait that was answered once goes on as long as the session lives.
 *
 * Where the answer to a `countDown()` or `trySetCount()` was lost and nothing shows whether it was applied, the call rejects
 * with a `BackendError` that is not retryable.
 */
export interface CountDownLatch {
  /** The name as it was given to the provider. */
  readonly name: string;
  /**
   * Sets the count, a whole number from 0 to 2^31 - 1. Resolves to `false` when a count is already set and above zero, and
   * leaves that count as it is. Rejects with `InvalidArgumentError` for another number, with `BackendError` and `ProviderClosedError`.
   */
  trySetCount(count: number): Promise<boolean>;
  /**
   * Takes `by` off (default 1; a whole number from 1 to 2^31 - 1), stopping at zero. Resolves with the count after
   * that. Rejects with `InvalidArgumentError` for another number, with `BackendError` and `ProviderClosedError`.
   *
   * @example
   * ```ts
   * const loaded = locks.countDownLatch("shards-loaded");
   * await loaded.trySetCount(12); // `false` in all processes but the first
   * await loadShard(3);
   * await loaded.countDown();
   * ```
   */
  countDown(by?: number): Promise<number>;
  /** The present count; 0 where none is set. Rejects with `BackendError` and `ProviderClosedError`. */
  count(): Promise<number>;
  /**
   * Resolves once the count is zero, at once where none is set. `waitMs` defaults to the provider's `defaultWaitMs`.
   *
   * @example
   * ```ts
   * await locks.countDownLatch("shards-loaded").wait({ waitMs: 60_000 });
   * ```
   */
  wait(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<void>;
}

/**
 * A gate: shut it, wait at it, open it. It is open until a client shuts it, and stays shut when that client is gone.
 * On ZooKeeper Curator's `DistributedBarrier`; Redisson has none. Waits reject as those of `CountDownLatch`.
 *
 * @example
 * ```ts
 * const gate = locks.barrier("migration");
 * await gate.shut(); // by the one that migrates, which calls gate.open() when it is done
 * await gate.wait({ waitMs: 60_000 }); // by all others, before they write
 * ```
 */
export interface Barrier {
  /** The name as it was given to the provider. */
  readonly name: string;
  /**
   * From now on clients wait here. Shutting a gate that is shut changes nothing. Rejects with `BackendError` and
   * `ProviderClosedError`. Curator: `setBarrier()`.
   */
  shut(): Promise<void>;
  /**
   * Lets all that wait pass. Opening an open gate changes nothing. Rejects with `BackendError` and
   * `ProviderClosedError`, and on ZooKeeper with `LayoutConflictError` when the path is that of a lock. Curator:
   * `removeBarrier()`.
   */
  open(): Promise<void>;
  /**
   * Resolves once the gate is open, at once where it is open now. `waitMs` defaults to the provider's
   * `defaultWaitMs`. Curator: `waitOnBarrier()`.
   */
  wait(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<void>;
}

/**
 * All members start together and leave together. On ZooKeeper Curator's `DistributedDoubleBarrier`; Redisson has
 * none. Waits reject as those of `CountDownLatch`.
 */
export interface DoubleBarrier {
  /** The name as it was given to the provider. */
  readonly name: string;
  /** How many members a round needs. Must be the same at all of them. */
  readonly parties: number;
  /**
   * Waits until `parties` members have entered, this one included. `waitMs` defaults to the provider's `defaultWaitMs`.
   * When it rejects, its place is given up. On ZooKeeper it resolves instead of rejecting when the round has begun by then,
   * since the other members count on this one; not while contact is broken.
   *
   * @example
   * ```ts
   * const place = await locks.doubleBarrier("round-1", 3).enter({ waitMs: 60_000 });
   * await computePart(place.lost);
   * await place.leave({ waitMs: 60_000 }); // waits for the other two
   * ```
   */
  enter(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<BarrierMembership>;
}

/** A member's place in a round of a double barrier that has begun. */
export interface BarrierMembership extends AsyncDisposable {
  /** Aborts once when the own node or key is gone: the other members may not count this one any more. */
  readonly lost: AbortSignal;
  /**
   * Resolves once all members of the round have left. Rejects with `LockLostError` when the own place is gone, and
   * otherwise as the waits of `CountDownLatch`; after such a rejection it may be called again. `waitMs` defaults to the
   * provider's `defaultWaitMs`. Disposing takes the own place away at once and waits for no other member, and for the server no longer
   * than `releaseTimeoutMs`.
   *
   * @example
   * ```ts
   * await using place = await locks.doubleBarrier("round-1", 3).enter({ waitMs: 60_000 });
   * await computePart(place.lost); // where this throws, the place is taken away, and the others go on
   * await place.leave({ waitMs: 60_000 });
   * ```
   */
  leave(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<void>;
}
