import type { AcquireOptions } from "./acquiring.js";

/**
 * A count that some clients take down while others wait until it is zero. Once it is zero it can be set again.
 * Redisson: `RCountDownLatch`. Curator has none: on ZooKeeper the layout is a new one, which Java may read and take
 * down with a `SharedCount`.
 *
 * Waits for a latch or a barrier reject with `AcquireTimeoutError` at `waitMs` (`0` asks once), with `signal.reason`, with
 * `ProviderClosedError`, with `InvalidArgumentError` for wrong options, and with `BackendError` where no server has answered
 * in time: at `waitMs`, or after `connectTimeoutMs` without contact. Once a server has answered, the wait goes on as long as
 * the session lives.
 *
 * When the answer to a `countDown()` or `trySetCount()` was lost, and nothing shows whether the request was applied, the call
 * rejects with a `BackendError` that is not retryable.
 */
export interface CountDownLatch {
  /** The name as it was given to the provider. */
  readonly name: string;
  /**
   * Sets the count, a whole number from 0 to 2^31 - 1. Resolves to `false` when a count is already set and above zero, and leaves
   * that count as it is. Rejects with `InvalidArgumentError` for another number, with `BackendError` and `ProviderClosedError`.
   */
  trySetCount(count: number): Promise<boolean>;
  /**
   * Takes `by` off the count (default 1; a whole number from 1 to 2^31 - 1), but stops at zero. Resolves with the new count.
   * Rejects with `InvalidArgumentError` for another number, with `BackendError` and `ProviderClosedError`.
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
 * A gate that clients shut, wait at, and open. It is open until a client shuts it, and stays shut when that client is gone.
 * On ZooKeeper it is Curator's `DistributedBarrier`; Redisson has none. Waits reject as those of `CountDownLatch`.
 *
 * When the answer to a `shut()` or `open()` was lost, the gate is looked at. If it is not as it was to be, and does not show
 * that the request was not applied, the call rejects with a `BackendError` that is not retryable: another client may have shut
 * or opened the gate since, and to repeat the request would undo that. On ZooKeeper it also rejects so where its session has ended
 * here meanwhile, whatever the gate shows.
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
   * Shuts the gate: from now on clients wait at it. Shutting a gate that is shut changes nothing. Rejects with `BackendError`
   * and `ProviderClosedError`. Curator: `setBarrier()`.
   */
  shut(): Promise<void>;
  /**
   * Opens the gate: all clients that wait may pass. Opening an open gate changes nothing. Rejects with
   * `BackendError` and `ProviderClosedError`, and on ZooKeeper with `LayoutConflictError` when the path is that
   * of a lock. Curator: `removeBarrier()`.
   */
  open(): Promise<void>;
  /**
   * Resolves once the gate is open, at once where it is open now. `waitMs` defaults to the provider's
   * `defaultWaitMs`. Curator: `waitOnBarrier()`.
   */
  wait(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<void>;
}

/**
 * A barrier whose members all start together and leave together. On ZooKeeper it is Curator's `DistributedDoubleBarrier`;
 * Redisson has none. Waits reject as those of `CountDownLatch`.
 */
export interface DoubleBarrier {
  /** The name as it was given to the provider. */
  readonly name: string;
  /** How many members a round needs. Must be the same at all of them. */
  readonly parties: number;
  /**
   * Waits until `parties` members have entered, this one included. `waitMs` defaults to the provider's `defaultWaitMs`. When
   * it rejects, its place is given up. On ZooKeeper it resolves instead of rejecting when the round has already begun, since
   * the other members count on this one. To find that out it waits for the server beyond `waitMs` and `signal`, as long as
   * there is contact. While contact is broken it rejects also then, and where the server has not answered its first request
   * half a second after the call was over. A round that is too large for one transaction of
   * ZooKeeper, from some thousands of members on, is an `InvalidArgumentError`.
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
  /** Aborts once when this member's node or key is gone: the other members may then no longer count this one. */
  readonly lost: AbortSignal;
  /**
   * Resolves once all members of the round have left. Rejects with `LockLostError` when this member's place is gone, and
   * otherwise as the waits of `CountDownLatch`; after such a rejection it may be called again. `waitMs` defaults to the
   * provider's `defaultWaitMs`. Disposing takes this member's place away at once. It waits for no other member, and for the
   * server no longer than `releaseTimeoutMs`.
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
