import type { Capabilities, PrimitiveKind } from "./capabilities.js";
import type {
  FencingToken,
  LockMode,
  LossReason,
  Millis,
  Owner,
  ReleaseOutcome,
  SessionState,
} from "./values.js";

export interface ProviderEventBase {
  readonly provider: string;
  readonly backend: Capabilities["backend"];
  /** `performance.now()` at the source. */
  readonly at: number;
}

export interface LockEventBase extends ProviderEventBase {
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly owner: Owner;
}

/** Of one side of a hold: a re-entrant owner may read and write at once. */
export interface HoldEventBase extends LockEventBase {
  readonly mode: LockMode;
}

/**
 * One `acquire-settled` with the outcome `granted` is followed by exactly one `released` or `lost`. Both are about holds of
 * the backend: entering a hold again, and leaving it again, is no event. A release that is refused ends the hold for us
 * as `unconfirmed`, and `release-failed` says why.
 */
export interface LockEventMap {
  "session-state": ProviderEventBase & {
    readonly state: SessionState;
    /** Negotiated; 0 while there is none. */
    readonly timeoutMs: Millis;
    readonly cluster: string;
  };
  /** One wire request. Built only when somebody listens. */
  "request-settled": ProviderEventBase & {
    readonly op: string;
    readonly tookMs: Millis;
    readonly outcome: "ok" | "error" | "unknown";
  };
  "fencing-rejected": ProviderEventBase & { readonly group: string };
  /** ZooKeeper: the counter behind this lock's nodes passed 1,000,000,000. Acquires are refused from 2,000,000,000. */
  "sequence-high": LockEventBase & { readonly sequence: number };
  /**
   * Redis: a message gave this provider a lock for an owner that it never had. Ignored: it is from somebody who may publish on the
   * provider's channel and should not, or from another client under the same id. `key`: the lock's key, as the message says.
   */
  "unknown-grant": ProviderEventBase & { readonly key: string; readonly owner: string };
  /**
   * Redis: a setting of the server, of its user or of a given client endangers locks or slows them. Once for each and each server, when
   * it is connected. A process warning (`HoldfastWarning`) with the same code and message goes with it.
   */
  "server-warning": ProviderEventBase & { readonly code: string; readonly message: string };
  "acquire-started": LockEventBase & { readonly mode: LockMode };
  /** The wake-up was seen. Hand-off time = from here to `acquire-settled`. */
  notified: LockEventBase;
  /** A waiter lost its place (session gone, entry swept) and stands at the tail. */
  requeued: LockEventBase & { readonly reason: "session-lost" | "entry-gone" };
  "acquire-settled": LockEventBase & {
    readonly mode: LockMode;
    readonly outcome: "granted" | "unavailable" | "timeout" | "aborted" | "error";
    readonly waitedMs: Millis;
    readonly roundTrips: number;
    readonly contended: boolean;
    readonly token: FencingToken | null;
    readonly error?: unknown;
  };
  renewed: HoldEventBase & { readonly tookMs: Millis; readonly marginMs: Millis };
  "renew-failed": HoldEventBase & { readonly error: unknown; readonly marginMs: Millis };
  uncertain: HoldEventBase & { readonly remainingMs: Millis };
  recovered: HoldEventBase;
  "revoke-requested": HoldEventBase;
  lost: HoldEventBase & { readonly reason: LossReason; readonly heldMs: Millis };
  released: HoldEventBase & { readonly outcome: ReleaseOutcome; readonly heldMs: Millis };
  "release-failed": LockEventBase & { readonly reason: "unconfirmed" | "refused"; readonly error: unknown };
}

export interface LockEvents {
  /**
   * Listeners run synchronously; what they throw is reported by `process.emitWarning`, never to the locker. A listener is in no
   * scope of a `withLock`, also when a call in such a body causes the event: a re-entrant lock takes it for a stranger.
   */
  on<K extends keyof LockEventMap>(type: K, listener: (event: LockEventMap[K]) => void): Disposable;
}
