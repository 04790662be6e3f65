import type { PrimitiveKind } from "./capabilities.js";
import type { Age, FencingToken, LockMode, Millis, Owner } from "./values.js";

export interface InspectOptions {
  signal?: AbortSignal;
  /** Upper bound on `pending`, so that a dashboard cannot be hurt by a queue of 100 000. */
  maxPending?: number;
}

/** Whose layout it is. Ours is Curator's or Redisson's and is told apart only by `identity` or by being this provider's. */
export type Recognised = "holdfast" | "curator" | "kazoo" | "redisson" | "unknown";

export interface ParticipantInfo {
  /** `null` unless it is this provider's: owners are not on the wire. */
  readonly owner: Owner | null;
  /** What it says of itself (`identity`, custom node data, a side record), as text; `null` when nothing printable. */
  readonly label: string | null;
  readonly mode: LockMode;
  /** Backend's own name for it: node path, hash field. */
  readonly backendId: string;
  /** ZooKeeper session id as unsigned hex, Redisson client uuid. */
  readonly session: string | null;
  /** `host:port` where the backend tells, else the address in the node data. */
  readonly address: string | null;
  readonly recognisedAs: Recognised;
  /** Held or waiting for so long. */
  readonly sinceMs: Age;
}

export interface HoldInfo extends ParticipantInfo {
  readonly token: FencingToken | null;
  readonly holdCount: number;
  readonly heldByThisProvider: boolean;
  /** Lease left, by the backend's clock; `null` for session-bound holds. */
  readonly remainingMs: Millis | null;
}

export interface WaitInfo extends ParticipantInfo {
  /** 0 is next. `null` where the backend has no order. */
  readonly position: number | null;
}

/** A picture, already old. Never a basis for deciding who may act. */
export interface LockSnapshot {
  readonly name: string;
  readonly takenAt: Date;
  /** As found in the backend, which may differ from what was asked for; `null` when nothing is there. */
  readonly kind: PrimitiveKind | null;
  readonly held: readonly HoldInfo[];
  readonly pending: readonly WaitInfo[];
  /** `null` where waiters leave no trace in the backend that could be counted. */
  readonly pendingTotal: number | null;
}

export interface SemaphoreSnapshot extends LockSnapshot {
  readonly limit: number;
  readonly available: number;
}
