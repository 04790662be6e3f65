import type { Capabilities, PrimitiveKind } from "./capabilities.js";
import type { InspectOptions, LockSnapshot } from "./inspect.js";
import type { FencingToken, KeepingEndReason, LockMode, LossReason, Millis } from "./values.js";

/** What core asks of a driver: one entry in one queue. */
export interface GrantRequest {
  /** The kind of the lock, by the method that made its view. */
  readonly kind: PrimitiveKind;
  /** The name as it was given to the provider. */
  readonly name: string;
  /** `"shared"` for reads and permits. */
  readonly mode: LockMode;
  /** How many permits; 1 for all that is no semaphore. */
  readonly permits: number;
  /** The lease that was asked for, in milliseconds. Only drivers with `capabilities.lease` `"ttl"` look at it. */
  readonly leaseMs: Millis;
  /** What operators are shown of the caller; `null` for nothing. */
  readonly label: string | null;
  /** Whether requests to let go are listened for. */
  readonly revocable: boolean;
  /** `false`: the request asks once. Nothing of it may stay in the queue, except for `ProviderOptions.keepAskMs` behind an entry that may be kept. */
  readonly mayWait: boolean;
  /** Semaphores: how many permits there are. `null` for other kinds, and where the backend keeps the number itself. */
  readonly limit: PermitLimit | null;
  /** Which layout to use where the driver has several for a kind, in its own words; `null`: its default. */
  readonly variant: string | null;
  /**
   * The provider may keep the grant after its release, see `ProviderOptions.keepMs`. The driver marks the entry, so that other clients
   * see that it may be held for no owner. Only drivers with `keeps` look at it.
   */
  readonly keepable: boolean;
}

/** The limit as given by the client, or the name of a counter in the backend that keeps it. */
export type PermitLimit =
  | number
  | {
      /** The name of the counter, as a lock name. */
      readonly countedBy: string;
    };

/**
 * One try for one grant, or for several that are granted together or not at all, on one session or at one master. It reports its
 * end to its `AttemptListener`.
 */
export interface Attempt {
  /**
   * Takes back all that this attempt has made or may have made, a grant included. Core withdraws every attempt that it gives up, whether
   * or not it was granted meanwhile: nothing else then ends such a grant. Called once at most, at any time; after it the listener
   * is not called any more. Runs on its own, never on the caller's aborted signal, through outages too. Resolves when nothing is left,
   * at the latest when the session or lease is over. Rejects with what the server refuses.
   */
  withdraw(): Promise<void>;
}

/**
 * Core's side of one attempt. Exactly one of `granted`, `unavailable`, `failed` and `sessionEnded` is called, once, and none after a
 * withdrawal. The others may be called until then. Core never calls back into the attempt from inside any of them, except that a
 * listener of an event may abort the call, which withdraws it. `granted` may be called before `LockDriver.attempt` has returned, the
 * other three only afterwards.
 */
export interface AttemptListener {
  /**
   * One grant for each request, in their order. Returns core's side of each: from now on the driver reports there what happens to the
   * hold. The caller gets it a microtask later, so that what has arrived already is heard first.
   *
   * `first`: something that the caller has to find done, such as a subscription. The caller gets the grant after it, however it ends;
   * what the driver reports meanwhile counts. Default: there is nothing to wait for.
   */
  granted(
    grants: readonly [Grant, ...Grant[]],
    first?: Promise<unknown>,
  ): readonly [GrantState, ...GrantState[]];
  /** Not free, and the request must not wait. Nothing of the attempt is left. */
  unavailable(): void;
  /**
   * An `EvictedError` when the entry was deleted by another client or an operator. A retryable `BackendError` for trouble in transport:
   * core then withdraws the attempt and makes another by the retry policy, once the link is connected. Any other error is final.
   */
  failed(error: unknown): void;
  /**
   * The session is over, and all that the attempt had made went with it: core makes another attempt on the next session.
   * `queued`: it had a place in the queue. `roundTrips`: how many it took so far.
   */
  sessionEnded(lost: { readonly queued: boolean; readonly roundTrips: number }): void;
  /**
   * The backend has answered that the request has to wait. Without this call a wait that comes to its limit counts as an outage and
   * rejects with `BackendError`. `blockedBy`: where no hold of another client is in the way but something that a person has to change
   * or wait for, what that is; it becomes the `cause` of a time-out. May be called again; the last call counts.
   */
  waiting(blockedBy?: Error): void;
  /** The wake-up of a waiter was seen: hand-off time counts from here. */
  notified(): void;
  /** The place in the queue was gone, and the attempt has taken another at the tail. */
  requeued(reason: "entry-gone"): void;
  /** The counter behind this lock's entries nears the end of its range. */
  sequenceHigh(sequence: number): void;
}

/** Core's side of a grant. The driver reports here what happens to the hold without its holder. Calls after the end are ignored. */
export interface GrantState {
  /** The caller has it. Before that core proves what was in doubt, and gives back what is gone. */
  readonly delivered: boolean;
  /** `uncertain()` was the last that was reported. */
  readonly doubted: boolean;
  /** Contact is broken, or the backend may have forgotten the hold. */
  uncertain(): void;
  /** The backend has confirmed after the doubt that the hold still stands. */
  recovered(): void;
  /** Another client asks for the lock. */
  revokeRequested(): void;
  /** The hold is over. */
  lost(reason: LossReason): void;
}

/** Core's side of a grant that may be kept. */
export interface KeepingState extends GrantState {
  /** The answer has come for which `mayLend()` said `"soon"`. */
  answered(): void;
  /**
   * Another client wants the lock, or may want it: anything was heard of the lock or of its entry that is not known to be our own doing.
   * Never taken back. Called only after `keep()` has returned `true`.
   */
  wanted(): void;
}

/** Which grant of its lock this is: core keeps a lock only if the last two grants were both its own, with none in between. */
export interface GrantPlace {
  /** Names this grant among all of the same lock. */
  readonly at: string;
  /** The name that the grant before this one had, if nothing else has happened to the lock since that one was made. */
  readonly after: string;
}

/** A hold as the backend has it. Core reads the clock against `validUntilMs()`; it trusts nothing else. */
export interface Grant {
  /** The fencing token; `null` where the backend has none. After `lend()` that of the latest owner. */
  readonly token: FencingToken | null;
  /** The `HoldInfo.backendId` of this grant in `inspect`: that is how core finds its own holds in a snapshot. */
  readonly backendId: string;
  /**
   * One id for each permit of a semaphore; empty for other kinds. When one of several is gone the driver reports `lost` for all;
   * core then calls `release()`, which gives back what is left.
   */
  readonly permitIds: readonly string[];
  /** How many round trips it took to the grant. */
  readonly roundTrips: number;
  /** Whether the lock was taken, or others were ahead. */
  readonly contended: boolean;
  /**
   * Monotonic time up to which the hold may be relied on, always finite. Read at every check; moved on by each confirmed
   * renewal or, on ZooKeeper, by each answered sync or write, counted from when that request was *sent*. Goes on while a
   * `release()` is under way: a release whose hold runs out first has lost it.
   */
  validUntilMs(): Millis;
  /**
   * Up to when less is sure than `validUntilMs()` says: bounds what `remainingMs()` promises and ends nothing. For a driver
   * that suspects by itself that the machine slept. Default: as `validUntilMs()`.
   */
  sureUntilMs?(): Millis;
  /**
   * Where the backend grants for a short time first and the driver itself extends that to the lease asked for: when that lease
   * ends. Bounds a hold with `renew: false`; without it `validUntilMs()` at the grant does.
   */
  leaseUntilMs?(): Millis;
  /**
   * The holder looks at `lost` or `revokeRequested` now: start listening for the end of this hold, if that was put off.
   * May be called more than once.
   */
  attend?(): void;
  /**
   * Asks the backend, also where there is nothing to renew. Resolves to the new `validUntilMs()`, or to `null` when the
   * backend says that it is no longer ours. Rejects when there was no answer. Never called after `release()`. `due`: the renewal is
   * due, and no caller waits for its answer; the driver may put it together with others within a sixtieth of the lease.
   */
  prove(leaseMs: Millis, options?: { readonly due: boolean }): Promise<Millis | null>;
  /**
   * `false` when it was not ours any more. Called again after a renewal that came too late. Goes on through outages and
   * settles at the latest when the session or lease is over: core lets no acquire of this name pass before. Rejects with a
   * `BackendError` that is not retryable when the backend refuses. `ended`: of a grant that was kept, why it is kept no longer.
   */
  release(ended?: KeepingEndReason): Promise<boolean>;
  /** Left out where the grant was waited for, where it is not known, and by drivers without `keeps`. */
  readonly place?: GrantPlace | undefined;
  /**
   * The holder has released, and core asks whether the grant may be kept for the next owner of this provider. `false`: no, and the
   * driver does nothing. `true`: from now on the driver listens for other clients and reports each sign of one by `KeepingState.wanted()`.
   * `false` whenever a sign may have been missed since the grant: contact was broken, or the entry has changed. Called once at
   * most, and only for requests with `keepable`: what `AttemptListener.granted` has returned for those is a `KeepingState`.
   */
  keep?(): boolean;
  /**
   * Read in the very step in which a kept grant is lent to its next owner. `"no"`: what the driver knows is too old, and core gives the
   * grant back. `"soon"`: an answer is on its way, after which `KeepingState.answered()` is called.
   */
  mayLend?(): "yes" | "soon" | "no";
  /**
   * The kept grant is lent, in the step in which `mayLend()` has said `"yes"`. Returns the token of its next owner, above those of all
   * owners before. Left out: the owners share one token, and `LockHandle.turn` tells them apart.
   */
  lend?(): FencingToken;
}

/**
 * The whole of what a backend has to do for grants: mutex, re-entrant, read, write, semaphore, leadership. Core adds
 * deadlines, aborts, renewal, re-entrancy, scopes, events and errors, once, for all of them. Latches, barriers, counts
 * and groups are not grants: a provider implements their interfaces itself with core's deadline and scope helpers.
 */
export interface LockDriver {
  /** What this backend can do; constant. */
  readonly capabilities: Capabilities;
  /** Its grants have `keep` and `mayLend`, and its factory lets users set `ProviderOptions.keepMs`. Default `false`. */
  readonly keeps?: boolean;
  /** `close()` of the driver ends all that its clients still hold at the backend. Default `false`: core gives back each kept grant. */
  readonly closeReleasesAll?: boolean;
  /** Throws `InvalidArgumentError` for a name that this backend cannot have; core has checked type and length. */
  checkName?(name: string): void;
  /**
   * Begins one attempt, and returns at once; the attempt reports its end to `listener` later. Several requests are for locks of one `jointGroup`: all or none,
   * queued in one atomic step. Core asks only while the link is connected. What goes wrong at once is thrown, and leaves nothing.
   */
  attempt(requests: readonly [GrantRequest, ...GrantRequest[]], listener: AttemptListener): Attempt;
  /** Which locks may be asked for together: those of the same group, never those of `null`. Left out: never several. */
  jointGroup?(kind: PrimitiveKind, name: string): string | number | null;
  /**
   * Like `attempt`, for a read beside a write that is still held; core releases the write when asked to. Same token. Fails with
   * `LockLostError` when the write is not held any more: then no read is left either.
   */
  attemptBeside?(
    write: Grant,
    read: Pick<GrantRequest, "leaseMs" | "label" | "revocable">,
    listener: AttemptListener,
  ): Attempt;
  /** Semaphores: the limit as the backend keeps it; `given` is the limit that the client was given, and the answer where there is no other. */
  limit?(name: string, given: PermitLimit | null, kind: PrimitiveKind): Promise<number>;
  /**
   * Semaphores: how many permits one call may ask for. Default 10,000: each permit has an id of its own, in this process and at the
   * backend, and a million ids take seconds in which the event loop does nothing else.
   */
  mostPermits?(kind: PrimitiveKind): number;
  /** Leadership: changes what other participants read of this grant. Rejects when it is not held any more. */
  announce?(grant: Grant, label: string): Promise<void>;
  /**
   * Calls `changed`, never before `watch` has returned, whenever `inspect` of this name may give another picture; how
   * often is the driver's choice, also after an outage. The result ends it. Errors of the backend come out of `inspect`.
   */
  watch?(kind: PrimitiveKind, name: string, changed: () => void): () => void;
  /**
   * Asks all present holders of a lock to let go. `false` when there is none that can be asked. Left out where no
   * holder can be asked.
   */
  requestRevoke?(kind: PrimitiveKind, name: string): Promise<boolean>;
  /**
   * Semaphores: one entry in `held` for each permit, with its id from `Grant.permitIds`; `limit` is how many permits there are, where the
   * driver needs that number to distinguish holders from waiters. Elections: leader and candidates in order.
   */
  inspect(kind: PrimitiveKind, name: string, options: InspectOptions, limit?: number): Promise<LockSnapshot>;
  /** Ends what the driver has opened. Called once, after the holds have been given back or that time is over. */
  close(): Promise<void>;
}
