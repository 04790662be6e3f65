import type { AcquireOptions } from "./acquiring.js";

export interface CountDownLatch {
  readonly name: string;
  /** `false` when a count is already set and above zero. */
  trySetCount(count: number): Promise<boolean>;
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
  leave(options?: Pick<AcquireOptions, "waitMs" | "signal">): Promise<void>;
}
