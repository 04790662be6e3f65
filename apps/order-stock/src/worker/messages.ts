/** How a worker keeps other workers out while it orders. */
export type LockerChoice =
  | { readonly kind: "none" }
  | {
      readonly kind: "zookeeper";
      readonly connect: string;
      readonly lock: string;
      readonly sessionTimeoutMs: number;
    };

/** A worker's one argument, as JSON. */
export interface WorkerJob {
  readonly name: string;
  readonly shopPort: number;
  readonly locker: LockerChoice;
  /** Whether the sale carries the fencing token of the hold. */
  readonly fenced: boolean;
}

/** The words sent to a worker: to queue for its order, and that it has thought long enough. */
export type Word = "order" | "write";

export interface OrderReport {
  readonly outcome: "sold" | "sold-out" | "refused";
  /** The stock as the worker last knew it. */
  readonly stock: number;
  readonly token: string | null;
  /** What `assertHeld()` threw right before the sale; `null` if it passed. */
  readonly heldCheckError: string | null;
  /** The largest token that the shop had admitted by then; `null` if the worker did not sell. */
  readonly highestToken: string | null;
}

/** The error of `withLock` although the order was finished: the hold was lost meanwhile. */
export interface LockLoss {
  readonly name: string;
  readonly code: string;
  readonly reason: string;
}

/** What a worker reports. */
export type WorkerNews =
  | { readonly type: "ready" }
  | { readonly type: "looked"; readonly stock: number; readonly token: string | null }
  | { readonly type: "finished"; readonly order: OrderReport; readonly loss: LockLoss | null }
  | { readonly type: "failed"; readonly message: string };
