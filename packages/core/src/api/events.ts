import type { Capabilities, PrimitiveKind } from "./capabilities.js";
import type {
  FencingToken,
  KeepingEndReason,
  LockMode,
  LossReason,
  Millis,
  Owner,
  ReleaseOutcome,
  SessionState,
} from "./values.js";

/** What every event says. */
export interface ProviderEventBase {
  /** `LockProvider.id`. */
  readonly provider: string;
  /** The kind of backend. */
  readonly backend: Capabilities["backend"];
  /** Monotonic milliseconds at the source: `performance.now()`, or the clock of the option `runtime`. */
  readonly at: number;
}

/** What every event about one lock says. */
export interface LockEventBase extends ProviderEventBase {
  /**
   * The kind of the lock, by the method that made its view. On Redis `semaphore()` and `permitSemaphore()` make a
   * `permit-semaphore`, and `plainSemaphore()` makes a `semaphore`.
   */
  readonly kind: PrimitiveKind;
  /** The name of the lock, as it was given to the provider. */
  readonly name: string;
  /** The owner that it was acquired for. */
  readonly owner: Owner;
}

/** What every event about a hold says. It names the side, because a re-entrant owner may read and write at once. */
export interface HoldEventBase extends LockEventBase {
  /** Which side. */
  readonly mode: LockMode;
}

/**
 * One `acquire-settled` with the outcome `granted` is followed by exactly one `released` or `lost`. Both are about holds at
 * the backend: entering a hold again, and leaving it again, emits no event. A release that the backend refuses ends the hold
 * on our side with the outcome `unconfirmed`, and `release-failed` says why.
 */
export interface LockEventMap {
  /** The state of the connection has changed. */
  "session-state": ProviderEventBase & {
    /** The state from now on. */
    readonly state: SessionState;
    /** ZooKeeper: the negotiated session time-out in milliseconds, 0 while there is none. Other backends: 0. */
    readonly timeoutMs: Millis;
    /** The servers as the options name them; `"client"` for a client that was given, `"memory"` in memory. */
    readonly cluster: string;
  };
  /** One wire request. Built only when there is a listener. */
  "request-settled": ProviderEventBase & {
    /** ZooKeeper: the operation, such as `create2`. Redis: the command or the script. */
    readonly op: string;
    /** Milliseconds from sending to the answer, or to the end of the wait for it. */
    readonly tookMs: Millis;
    /** `"unknown"`: it was sent, and no answer came that says whether it was done. */
    readonly outcome: "ok" | "error" | "unknown";
  };
  /** A `tokenGate()` with this provider refused a token that is smaller than one it has seen. */
  "fencing-rejected": ProviderEventBase & {
    /** The option `group` of the gate. */
    readonly group: string;
  };
  /** ZooKeeper: the counter behind this lock's nodes passed 1,000,000,000. Acquires are refused from 2,000,000,000. */
  "sequence-high": LockEventBase & {
    /** The number of the node that was just made. */
    readonly sequence: number;
  };
  /**
   * Redis: a message granted a lock to an owner that this provider never had. The message is ignored. Its sender has a
   * permission to publish on the provider's channel that it should not have, or it is another client with the same id.
   */
  "unknown-grant": ProviderEventBase & {
    /** The lock's key, as the message says. */
    readonly key: string;
    /** The owner that the message names. */
    readonly owner: string;
  };
  /**
   * Redis: a setting of the server, of its user or of a given client endangers locks or slows them. Emitted once for each
   * such setting and each server, when that server is connected. A process warning (`HoldfastWarning`) with the same code and
   * message is emitted too.
   */
  "server-warning": ProviderEventBase & {
    /** Stable name of the warning. */
    readonly code: string;
    /** What is wrong and what to set. */
    readonly message: string;
  };
  /** An acquire begins. Exactly one `acquire-settled` follows. */
  "acquire-started": LockEventBase & {
    /** What it asks for. */
    readonly mode: LockMode;
  };
  /** A message that the lock may be free has arrived. The time of a hand-off is from here to `acquire-settled`. */
  notified: LockEventBase;
  /** A waiter lost its place, because its session ended or its entry was removed, and is now the last of its queue. */
  requeued: LockEventBase & {
    /** `"entry-gone"`: the entry was removed while the session or the client lived. */
    readonly reason: "session-lost" | "entry-gone";
  };
  /** An acquire has ended, with any outcome. */
  "acquire-settled": LockEventBase & {
    /** What it asked for. */
    readonly mode: LockMode;
    /**
     * `"unavailable"`: it asked once, and the lock was taken. `"timeout"`: `waitMs` passed. `"aborted"`: by its
     * `signal`.
     */
    readonly outcome: "granted" | "unavailable" | "timeout" | "aborted" | "error";
    /** Milliseconds from the call to its end. */
    readonly waitedMs: Millis;
    /** Round trips up to the grant, as the backend counts them; 0 unless granted. */
    readonly roundTrips: number;
    /** Whether the lock was taken, or other waiters were ahead, when it asked. */
    readonly contended: boolean;
    /** The fencing token of the grant; `null` where there is none. */
    readonly token: FencingToken | null;
    /** Whether this provider lent the grant, because it had kept the lock (`keepMs`): then no request was sent. */
    readonly kept: boolean;
    /** See `LockHandle.turn`; 0 unless granted. */
    readonly turn: number;
    /** What the call rejected with, for the outcome `"error"` alone. */
    readonly error?: unknown;
  };
  /** A lease was renewed. Only where `capabilities.lease` is `"ttl"`. */
  renewed: HoldEventBase & {
    /** Milliseconds from sending to the answer. */
    readonly tookMs: Millis;
    /** Milliseconds that the lease before it still had when the answer came. */
    readonly marginMs: Millis;
  };
  /**
   * A renewal had no answer, or was refused. It is tried again until the lease is over. Only where
   * `capabilities.lease` is `"ttl"`.
   */
  "renew-failed": HoldEventBase & {
    /** Why. */
    readonly error: unknown;
    /** Milliseconds for which the hold is still good. */
    readonly marginMs: Millis;
  };
  /** Contact broke while the hold stands. `recovered` or `lost` follows, unless it is released before. */
  uncertain: HoldEventBase & {
    /** Milliseconds for which the hold is still good. */
    readonly remainingMs: Millis;
  };
  /** Contact is back, and the backend has confirmed the hold. */
  recovered: HoldEventBase;
  /**
   * Another client asked the holder to release the lock, by `requestRevoke()` or Curator's `Revoker`. Emitted once for each hold.
   */
  "revoke-requested": HoldEventBase;
  /** The hold ended without having been released. */
  lost: HoldEventBase & {
    /** How it ended. */
    readonly reason: LossReason;
    /** Milliseconds from the grant to here. */
    readonly heldMs: Millis;
  };
  /** A release has ended, with any outcome. */
  released: HoldEventBase & {
    /** What `LockHandle.release()` resolves to; `"still-held"` only where the lock stays taken because of `holdAtLeastMs`. */
    readonly outcome: ReleaseOutcome;
    /** How the hold ended before its release. Only with the outcome `"lost"`. */
    readonly reason?: LossReason;
    /** Milliseconds from the grant to here. */
    readonly heldMs: Millis;
    /** Whether this provider had lent the grant (`keepMs`), instead of asking the backend for it. */
    readonly kept: boolean;
    /** See `LockHandle.turn`. */
    readonly turn: number;
  };
  /** This provider stopped keeping a lock (`keepMs`): the lock is given back, or gone. */
  "keeping-ended": ProviderEventBase & {
    /** The kind of the lock, by the method that made its view. */
    readonly kind: PrimitiveKind;
    /** The name of the lock, as it was given to the provider. */
    readonly name: string;
    /** Why. */
    readonly reason: KeepingEndReason;
    /** To how many owners it was lent; 0: keeping it has saved no request. */
    readonly lends: number;
    /** Milliseconds from its first release, with which the keeping began. */
    readonly forMs: Millis;
  };
  /** Something may be left in the backend, of a hold that was given back or of a request that was given up. */
  "release-failed": LockEventBase & {
    /** `"unconfirmed"`: no answer yet. `"refused"`: the backend said no. */
    readonly reason: "unconfirmed" | "refused";
    /** Why. */
    readonly error: unknown;
  };
}

/** The events of one provider. */
export interface LockEvents {
  /**
   * Calls `listener` for each event of this type until the result is disposed. Listeners run synchronously. When a listener
   * throws or rejects, `process.emitWarning` reports the error, and the call that caused the event goes on. A listener runs
   * outside of every `withLock` scope, also when a call in such a body causes the event. So an acquire of a re-entrant lock
   * in a listener asks for a new owner.
   *
   * @example
   * ```ts
   * using _ = locks.events.on("lost", ({ name, reason, heldMs }) => {
   *   console.error(`lost ${name} after ${heldMs} ms: ${reason}`);
   * });
   * ```
   */
  on<K extends keyof LockEventMap>(type: K, listener: (event: LockEventMap[K]) => void): Disposable;
}
