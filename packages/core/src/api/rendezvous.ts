import type { AcquireOptions } from "./acquiring.js";

/**
 * Waits, of this and of the barriers, reject with `AcquireTimeoutError` at `waitMs` (`0` asks once), with `signal.reason`, with
 * `ProviderClosedError`, and with `BackendError` when contact stays broken for longer than `connectTimeoutMs` and any
 * session that lives on.
 *
 * Where the answer to a countdown or `trySetCount` was lost and nobody can tell whether it was applied, it rejects with a
 * `BackendError` that is not retryable.
 */
export interface CountDownLatch {
  readonly name: string;
  /** `false` when a count is already set and above zero. */
  trySetCount(count: number): Promise<boolean>;
  /** Takes `by` off (default 1), stopping at zero. The count after that. */
  countDown(by?: number): Promise<number>;
  count(): Promise<number>;
  /** Resolves at zero. */
  wait(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<void>;
}

/** A gate: shut it, wait at it, open it. */
export interface Barrier {
  readonly name: string;
  shut(): Promise<void>;
  open(): Promise<void>;
  wait(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<void>;
}

/** Everyone starts together, everyone leaves together. */
export interface DoubleBarrier {
  readonly name: string;
  readonly parties: number;
  enter(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<BarrierMembership>;
}

export interface BarrierMembership extends AsyncDisposable {
  /** Our node or key vanished: the others may have stopped counting us. */
  readonly lost: AbortSignal;
  /**
   * Resolves once all who were there have left. Rejects with `LockLostError` when our place is gone; after another rejection it
   * may be called again. Disposing takes our place away and waits for nobody.
   */
  leave(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<void>;
}
