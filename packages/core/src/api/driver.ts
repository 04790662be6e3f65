import type { Capabilities, PrimitiveKind } from "./capabilities.js";
import type { InspectOptions, LockSnapshot } from "./inspect.js";
import type { FencingToken, KeepingEndReason, LockMode, LossReason, Millis } from "./values.js";

/** One request of core to a driver: for one entry in one queue. */
export interface GrantRequest {
  /** The kind of the lock, by the method that made its view. */
  readonly kind: PrimitiveKind;
  /** The name as it was given to the provider. */
  readonly name: string;
  /** `"shared"` for reads and permits. */
  readonly mode: LockMode;
  /** How many permits are asked for; 1 for locks that are not semaphores. */
  readonly permits: number;
  /** The lease that was asked for, in milliseconds. Only drivers with `capabilities.lease` `"ttl"` use it. */
  readonly leaseMs: Millis;
  /** The caller's text for operators; `null` when the caller gave none. */
  readonly label: string | null;
  /** Whether the driver has to listen for requests to release the lock. */
  readonly revocable: boolean;
  /**
   * `false`: the request asks once, and nothing of it may stay in the queue. One exception: behind an entry that may be kept it
   * may stay for `ProviderOptions.keepAskMs`.
   */
  readonly mayWait: boolean;
  /** Semaphores: how many permits there are. `null` for other kinds, and where the backend keeps the number itself. */
  readonly limit: PermitLimit | null;
  /** The driver's own name for the layout to use, where it has several for a kind; `null`: its default. */
  readonly variant: string | null;
  /**
   * Whether the provider may keep the grant after its release, see `ProviderOptions.keepMs`. If so, the driver marks the entry:
   * other clients see that the lock may be held while no owner has it. Only drivers with `keeps` use it.
   */
  readonly keepable: boolean;
}

/** The limit of a semaphore as the client gave it, or the name of the counter in the backend that keeps it. */
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
   * Takes back everything that this attempt has made or may have made, including a grant. Core withdraws every attempt that it
   * gives up. Such an attempt may have been granted meanwhile, and then only this call ends the grant. Core calls it at most
   * once, at any time; after it the driver does not call the listener any more. The caller's aborted signal does not stop it,
   * and it goes on through outages. Resolves when nothing is left, at the latest when the session or lease is over. Rejects
   * with the server's refusal.
   */
  withdraw(): Promise<void>;
}

/**
 * Core's side of one attempt. The driver calls exactly one of `granted`, `unavailable`, `failed` and `sessionEnded`, once, and
 * none of them after a withdrawal. It may call the other methods until then. Core does not call the attempt from inside any of
 * these methods, with one exception: a listener of an event may abort the caller's signal, which withdraws the attempt. The
 * driver may call `granted` before `LockDriver.attempt` has returned, and the other three only afterwards.
 */
export interface AttemptListener {
  /**
   * Reports one grant for each request, in the order of the requests. Returns core's side of each grant: from now on the
   * driver reports there what happens to the hold. The caller gets the grant a microtask later, so that core first processes
   * what has already arrived.
   *
   * `first`: work that has to be over before the caller gets the grant, such as a subscription. The caller gets the grant when
   * it settles, also when it rejects. What the driver reports meanwhile counts. Default: the caller does not wait.
   */
  granted(
    grants: readonly [Grant, ...Grant[]],
    first?: Promise<unknown>,
  ): readonly [GrantState, ...GrantState[]];
  /** The lock is not free, and the request must not wait. Nothing of the attempt is left. */
  unavailable(): void;
  /**
   * The attempt failed. `error` is an `EvictedError` when another client or an operator deleted the entry. It is a retryable
   * `BackendError` or `QuorumError` for trouble in transport: core then withdraws the attempt and makes another by the retry
   * policy, once the link is connected. Any other error is final.
   */
  failed(error: unknown): void;
  /**
   * The session is over, and everything that the attempt had made is gone with it. Core makes another attempt on the next
   * session. `queued`: whether the attempt had a place in the queue. `roundTrips`: how many round trips it took so far.
   */
  sessionEnded(lost: { readonly queued: boolean; readonly roundTrips: number }): void;
  /**
   * The backend has answered that the request has to wait. Without this call, a wait that reaches its limit counts as an outage
   * and rejects with `BackendError`. `blockedBy`: what is in the way, if it is no hold of another client but something that a
   * person has to change or wait for. It becomes the `cause` of a time-out. May be called again; the last call counts.
   */
  waiting(blockedBy?: Error): void;
  /** A message has woken the waiter. The time of a hand-off is measured from here. */
  notified(): void;
  /** The place in the queue was gone, and the attempt has taken a new one at the tail. */
  requeued(reason: "entry-gone"): void;
  /** The counter behind this lock's entries nears the end of its range. */
  sequenceHigh(sequence: number): void;
}

/**
 * Core's side of a grant. The driver reports here what its holder did not do itself. Calls after the end of the hold are ignored.
 */
export interface GrantState {
  /**
   * Whether the caller has the grant. Until then core itself proves a grant that was in doubt, and takes back one that is gone.
   */
  readonly delivered: boolean;
  /** Whether `uncertain()` was reported and no confirmation came after it. */
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
  /** The answer has come that `mayLend()` announced by `"soon"`. */
  answered(): void;
  /**
   * Another client wants the lock, or may want it. The driver calls this for any sign from the lock or its entry, unless it
   * knows that our own requests caused that sign. It is never taken back, and called only after `keep()` has returned `true`.
   */
  wanted(): void;
}

/**
 * Which grant of its lock this is. Core keeps a lock only if its last two grants were both for this provider,
 * with none in between.
 */
export interface GrantPlace {
  /** The name of this grant, unique among all grants of the same lock. */
  readonly at: string;
  /** The `at` of the grant before this one, if nothing else has happened to the lock since that grant. */
  readonly after: string;
}

/** A hold as the backend has it. Core compares the clock with `validUntilMs()` and trusts nothing else. */
export interface Grant {
  /** The fencing token; `null` where the backend has none. After `lend()` it is the token of the latest owner. */
  readonly token: FencingToken | null;
  /** The `HoldInfo.backendId` of this grant in `inspect`. Core finds its own holds in a snapshot by it. */
  readonly backendId: string;
  /**
   * One id for each permit of a semaphore; empty for other kinds. When one of several permits is gone, the driver reports `lost`
   * for the whole grant. Core then calls `release()`, which gives back the permits that are left.
   */
  readonly permitIds: readonly string[];
  /** How many round trips the attempt took up to the grant. */
  readonly roundTrips: number;
  /** Whether the lock was taken, or other waiters were ahead, when the request came. */
  readonly contended: boolean;
  /**
   * The monotonic time up to which the hold may be relied on; always finite. Core reads it at every check. Each confirmed
   * renewal moves it on, and on ZooKeeper each answered sync or write. The new time counts from when that request was *sent*.
   * It still counts while a `release()` is under way: if it passes before the answer, that release has the outcome `lost`.
   */
  validUntilMs(): Millis;
  /**
   * A stricter time than `validUntilMs()`, for a driver that itself suspects that the machine slept. It limits what
   * `remainingMs()` promises, and does not end the hold. Default: as `validUntilMs()`.
   */
  sureUntilMs?(): Millis;
  /**
   * When the lease that was asked for ends. For a backend that first grants a short lease, which the driver itself extends to
   * the one that was asked for. It is the end of a hold with `renew: false`. Default: `validUntilMs()` at the grant.
   */
  leaseUntilMs?(): Millis;
  /**
   * The holder has read `lost` or `revokeRequested`. A driver that has put off listening for the end of this hold has to start
   * now. May be called more than once.
   */
  attend?(): void;
  /**
   * Asks the backend whether the hold still stands, also where there is no lease to renew. Resolves to the new
   * `validUntilMs()`, or to `null` when the backend says that the hold is no longer ours. Rejects when there was no answer.
   * Never called after `release()`. `due`: this is a regular renewal, and no caller waits for its answer. The driver may put it
   * together with others within a sixtieth of the lease.
   */
  prove(leaseMs: Millis, options?: { readonly due: boolean }): Promise<Millis | null>;
  /**
   * Ends the hold at the backend. Resolves to `false` when the hold was not ours any more. Core calls it again after a renewal
   * whose answer came too late. It goes on through outages and settles at the latest when the session or lease is over; core
   * lets no acquire of this name pass before. Rejects with a `BackendError` that is not retryable when the backend refuses.
   * `ended`: for a grant that was kept, why the provider stopped keeping it.
   */
  release(ended?: KeepingEndReason): Promise<boolean>;
  /**
   * Which grant of its lock this is. Left out when the request had to wait, when it is not known, and by drivers without `keeps`.
   */
  readonly place?: GrantPlace | undefined;
  /**
   * The holder has released the lock, and core asks whether it may keep the grant for the next owner of this provider. `true`:
   * from now on the driver listens for other clients, and reports each sign of one by `KeepingState.wanted()`. `false`: no, and
   * the driver does nothing. The result is `false` whenever the driver may have missed a sign since the grant: contact was
   * broken, or the entry has changed. Core calls it at most once, and only for requests with `keepable`. For those,
   * `AttemptListener.granted` has returned a `KeepingState`.
   */
  keep?(): boolean;
  /**
   * Whether the kept grant may be lent now. Core calls it in the same synchronous step in which it lends the grant to the next
   * owner. `"no"`: what the driver knows is too old, and core gives the grant back. `"soon"`: an answer is on its way, and the
   * driver calls `KeepingState.answered()` when it has come.
   */
  mayLend?(): "yes" | "soon" | "no";
  /**
   * Lends the kept grant, in the same step in which `mayLend()` has returned `"yes"`. Returns the token of the next owner, which
   * is above those of all owners before. Left out: all owners share one token, and `LockHandle.turn` tells them apart.
   */
  lend?(): FencingToken;
}

/**
 * Everything that a backend has to implement for grants: mutex, re-entrant, read, write, semaphore, leadership. Core adds
 * deadlines, aborts, renewal, re-entrancy, scopes, events and errors once for all of them. Latches, barriers, counts and
 * groups are not grants: a provider implements their interfaces itself, with core's deadline and scope helpers.
 */
export interface LockDriver {
  /** What this backend can do; constant. */
  readonly capabilities: Capabilities;
  /** Whether its grants have `keep` and `mayLend`, and its factory lets users set `ProviderOptions.keepMs`. Default `false`. */
  readonly keeps?: boolean;
  /**
   * Whether `close()` of the driver ends all holds that are left at the backend. Default `false`: core gives back each kept
   * grant.
   */
  readonly closeReleasesAll?: boolean;
  /** Throws `InvalidArgumentError` for a name that this backend cannot have; core has already checked type and length. */
  checkName?(name: string): void;
  /**
   * Begins one attempt, and returns at once; the attempt reports its end to `listener`. Several requests are for locks of one
   * `jointGroup`: they are queued in one atomic step and granted all or none. Core calls it only while the link is connected.
   * An error that occurs at once is thrown, and then nothing of the attempt is left.
   */
  attempt(requests: readonly [GrantRequest, ...GrantRequest[]], listener: AttemptListener): Attempt;
  /**
   * The group of a lock. Core asks together only for locks of one group, never for those of `null`. Left out: never for several.
   */
  jointGroup?(kind: PrimitiveKind, name: string): string | number | null;
  /**
   * Like `attempt`, for a read beside a write that is still held. The read has the token of the write. Core releases the
   * write when the caller asks for that. The attempt fails with `LockLostError` when the write is not held any more; then no
   * read is left either.
   */
  attemptBeside?(
    write: Grant,
    read: Pick<GrantRequest, "leaseMs" | "label" | "revocable">,
    listener: AttemptListener,
  ): Attempt;
  /**
   * Semaphores: the limit as the backend keeps it. `given` is the client's own limit, and the result where the backend has none.
   */
  limit?(name: string, given: PermitLimit | null, kind: PrimitiveKind): Promise<number>;
  /**
   * Semaphores: how many permits one call may ask for. Default 10,000, because each permit has an id of its own, in this process
   * and at the backend: to make a million ids takes seconds in which the event loop does nothing else.
   */
  mostPermits?(kind: PrimitiveKind): number;
  /** Leadership: changes the label that other participants see for this grant. Rejects when it is not held any more. */
  announce?(grant: Grant, label: string): Promise<void>;
  /**
   * Calls `changed` whenever `inspect` of this name may give another result, and never before `watch` has returned. The driver
   * decides how often, also after an outage. The returned function ends the watch. Errors of the backend appear in `inspect`.
   */
  watch?(kind: PrimitiveKind, name: string, changed: () => void): () => void;
  /**
   * Asks all present holders of a lock to release it. Resolves to `false` when there is no holder that can be asked. Left out
   * where no holder can ever be asked.
   */
  requestRevoke?(kind: PrimitiveKind, name: string): Promise<boolean>;
  /**
   * Shows the holders and waiters of a lock. Semaphores: `held` has one entry for each permit, with its id from
   * `Grant.permitIds`; `limit` is how many permits there are, where the driver needs that number to tell holders from waiters.
   * Elections: leader and candidates in order.
   */
  inspect(kind: PrimitiveKind, name: string, options: InspectOptions, limit?: number): Promise<LockSnapshot>;
  /** Closes what the driver has opened. Called once, after the holds have been given back or the time for that is over. */
  close(): Promise<void>;
}
