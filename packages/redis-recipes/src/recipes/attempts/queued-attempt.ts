import { BackendError, LayoutConflictError, type Millis } from "@holdfast/core";
import type { Attempt, AttemptListener, GrantPlace, GrantRequest } from "@holdfast/core/driver";
import { nothingDone, OutcomeUnknownError, ofLock } from "../../client/errors.js";
import type { Answer } from "../../client/redis-line.js";
import type { HandOver } from "../../layout/grant-message.js";
import { type AcquireAllAnswer, mutexAcquireAll } from "../../scripts/mutex/acquire-all.js";
import type { Conflict, Granted, Queued, StandAnswer } from "../../scripts/mutex/answers.js";
import { checkAcknowledged, type Found, foundIn, RedisGrant } from "../grants/redis-grant.js";
import { keepable } from "../kinds/kind.js";
import { setLabel } from "../queue/election-labels.js";
import { confirmHold, isSure, type Offer, offerOf } from "../queue/hand-over.js";
import { PlaceWatch } from "../queue/place-watch.js";
import type { QueuedLock } from "../queue/queued-lock.js";
import type { Wait } from "../queue/waits.js";
import type { BatchAnswer } from "../requests/batches.js";
import type { BoundCall } from "../requests/calls.js";
import type { Requests } from "../requests/requests.js";
import { isMisdated } from "../requests/server-clock.js";
import type { RedisClientState } from "./client-state.js";

/** A lock that has a queue of ours, and the request for it. */
export interface QueuedRequest {
  readonly lock: QueuedLock;
  readonly request: GrantRequest;
}

/** One lock of an attempt, with the owner that asks for it. */
interface Part extends QueuedRequest {
  readonly owner: string;
  readonly leaseMs: Millis;
}

type Parts = readonly [Part, ...Part[]];

type Phase =
  | "asking" // the acquire is under way
  | "waiting" // queued, as far as this client knows
  | "confirming" // a message or heartbeat says that it holds, and one renewal has to confirm it
  | "granted"
  | "over"; // withdrawn, refused or failed

/**
 * Asks for one lock that has a queue of ours, or for several mutexes of one server or slot by one script. Several mutexes are
 * granted together or not at all, and never wait: clients that are in several queues at once would deadlock.
 */
export class QueuedAttempt implements Attempt, Wait {
  readonly owner: string;
  readonly lock: QueuedLock;
  readonly leaseMs: Millis;
  /** Another waiter is in front, according to the last answer. */
  behind = false;
  readonly #client: RedisClientState;
  readonly #requests: Requests;
  readonly #parts: Parts;
  readonly #listener: AttemptListener;
  readonly #asked: Promise<void>;
  #phase: Phase = "asking";
  #grants: readonly RedisGrant[] = [];
  #roundTrips = 0;
  /** Something of these owners may be at the server. */
  #mayBeThere = false;
  /** See `Requests.runLast`. */
  #lateUntilMs: number | null = null;
  /** The token key's value in the last answer. A message whose token is not above it is out of date. */
  #voidUpTo = 0n;
  /** A message that arrived before the reply of the acquire. */
  #early: { readonly message: HandOver; readonly heardMs: Millis } | undefined;
  #watch: PlaceWatch | undefined;
  /** Set while a request that may not wait stays queued behind a holder whose provider may only keep the lock. */
  #endAsking: (() => void) | undefined;
  /** Resolves once others can read the label. */
  #labelled: Promise<unknown> | undefined;
  #takenBack: Promise<void> | undefined;
  #withdrawn = false;

  constructor(
    client: RedisClientState,
    requests: readonly [QueuedRequest, ...QueuedRequest[]],
    listener: AttemptListener,
  ) {
    this.#client = client;
    this.#requests = client.requests;
    this.#listener = listener;
    this.#parts = requests.map(({ lock, request }) => ({
      lock,
      request,
      owner: client.owners.fresh(),
      leaseMs: Math.max(1, Math.floor(request.leaseMs)),
    })) as unknown as Parts;
    const [first] = this.#parts;
    this.owner = first.owner;
    this.lock = first.lock;
    this.leaseMs = first.leaseMs;
    // A hand-over, a forced release or a request to release may concern the grant that is asked for here.
    client.grantChannel.listen();
    if (this.#alone) client.waits.add(this);
    this.#asked = this.#ask();
  }

  get #alone(): boolean {
    return this.#parts.length === 1;
  }

  /** A request for several locks may never wait. */
  get #mayWait(): boolean {
    return this.#parts[0].request.mayWait;
  }

  // -------- what the registry of waits reports

  get queued(): boolean {
    return this.#phase === "waiting";
  }

  heartbeatAnswered(answer: BatchAnswer<StandAnswer>): void {
    const { reply } = answer;
    if (!this.queued) return;
    switch (reply.status) {
      case "granted": {
        const found = foundIn(answer, reply);
        this.#offer(this.#requests.trusts(answer) ? found : { ...found, untilMs: null });
        return;
      }
      case "queued":
        if (reply.appended) this.#listener.requeued("entry-gone");
        if (this.queued) this.#placed(reply);
        return;
      case "late":
        // A wrong bound of the server's clock is forgotten by now. If a bound stands, it is that of another server's clock than
        // that of the node which answered, as while a slot is being moved: another request at once would be refused in the same
        // way.
        if (this.#requests.notAfterMs(this.lock.key) === null) this.#client.waits.heartbeatNow(this);
        return;
      case "conflict":
        this.failed(conflictError(reply, this.#parts[0].request));
        return;
      case "busy":
        this.failed(new RangeError("a heartbeat does not answer busy"));
    }
  }

  failed(error: unknown): void {
    if (this.#phase === "granted" || this.#phase === "over") return;
    this.#leave("over");
    this.#listener.failed(error);
  }

  handedOver(message: HandOver, heardMs: Millis): void {
    // The locks `x` and `{x}` share one queue, since Redisson derives the same key from both. So this may be a grant of the other
    // lock.
    if (message.key !== this.lock.key) return;
    if (this.#phase === "asking") this.#early = { message, heardMs };
    if (!this.queued) return;
    // Rule 1: an answer that said `queued` with this token or a later one was given after the message was written.
    if (message.token <= this.#voidUpTo) return;
    const offer = offerOf(this.#requests, this.lock, message, heardMs);
    if (offer === null) this.#client.waits.heartbeatNow(this);
    else this.#offer(offer);
  }

  // -------- what core asks

  withdraw(): Promise<void> {
    this.#withdrawn = true;
    return this.#takeBack();
  }

  #takeBack(): Promise<void> {
    this.#takenBack ??= this.#end();
    return this.#takenBack;
  }

  async #end(): Promise<void> {
    const { waits } = this.#client;
    for (const grant of this.#grants) grant.abandon();
    this.#leave("over");
    for (const part of this.#parts) waits.end(part);
    // Wait for the acquire: a request that waits for replicas and one that does not are not ordered. Its outcome also shows
    // whether there is anything to take back.
    await this.#asked;
    if (!this.#mayBeThere) {
      for (const { owner } of this.#parts) waits.forget(owner);
      return;
    }
    const ends = await Promise.allSettled(this.#parts.map((part) => this.#cancel(part)));
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  #cancel({ lock, owner, leaseMs }: Part): Promise<unknown> {
    const { runtime, settings } = this.#requests;
    const endMs = runtime.nowMs() + leaseMs + settings.aliveMs;
    return this.#requests.runLast(lock.cancel(owner, leaseMs), endMs, this.#lateUntilMs);
  }

  // -------- the way to a grant

  /** `again`: the second time, since the first request was refused for a wrong date. */
  async #ask(again = false): Promise<void> {
    const requests = this.#requests;
    const { grantChannel, keptGrants } = this.#client;
    // A request to release is not sent again if it is missed, so subscribe first.
    if (this.#parts.some(({ request }) => request.revocable)) await grantChannel.subscribed();
    const turns = keptGrants && this.#parts.map(({ lock }) => keptGrants.javasTurn(lock.key));
    if (turns?.some((turn) => turn !== undefined)) await Promise.all(turns);
    if (this.#phase !== "asking") return;
    if (requests.lacksClock(this.lock.key)) {
      const entry = { field: this.lock.fieldOf(this.owner), leaseMs: this.leaseMs };
      this.#roundTrips++;
      try {
        await requests.batches.ask(this.lock.renewal, this.lock.renewKeys, entry);
      } catch (error) {
        return this.failed(error);
      }
      if (this.#phase !== "asking") return;
    }
    const { notAfterMs, options } = requests.grantBounds(this.lock.key);
    this.#mayBeThere = true;
    this.#roundTrips++;
    try {
      const answer = await requests.run(this.#call(notAfterMs), options);
      if (!again && this.#phase === "asking" && isMisdated(answer, requests.settings.commandTimeoutMs))
        return await this.#ask(true);
      this.#answered(answer);
    } catch (error) {
      // A request for several locks writes nothing before it has looked at all of them.
      if (nothingDone(error) || (!this.#alone && error instanceof LayoutConflictError))
        this.#mayBeThere = false;
      this.#lateUntilMs = requests.lateUntilMs(error, notAfterMs);
      // Rule 3: the same owner asks again. A heartbeat shows what became of the first request, and has the same effect if that
      // one did nothing.
      if (error instanceof OutcomeUnknownError && this.#mayWait && this.#phase === "asking")
        this.#wait("heartbeat");
      else this.failed(error);
    }
  }

  #call(notAfterMs: number | null): BoundCall<StandAnswer | AcquireAllAnswer> {
    const requests = this.#requests;
    if (this.#alone) {
      const { owner, leaseMs, lock, request } = this.#parts[0];
      const { kind, mayWait, keepable: tellsBefore } = request;
      const floor = requests.floorOf(lock.key);
      const asksKeeper = keepable.has(kind) && requests.settings.keepAskMs > 0;
      return lock.acquire({ owner, leaseMs, floor, mayWait, notAfterMs, asksKeeper, tellsBefore });
    }
    const entries = this.#parts.map(({ owner, leaseMs, lock }) => ({
      owner,
      leaseMs,
      floor: requests.floorOf(lock.key),
    }));
    const { tokenTtlMs, aliveMs } = requests.settings;
    return {
      script: mutexAcquireAll,
      keys: this.#parts.flatMap(({ lock }) => lock.keys),
      args: mutexAcquireAll.args({ notAfterMs, tokenTtlMs, aliveMs }, entries),
    };
  }

  #answered(answer: Answer<StandAnswer | AcquireAllAnswer>): void {
    const { reply, acknowledged } = answer;
    const { lock, request } = this.#parts["index" in reply ? reply.index : 0] as Part;
    if (reply.status === "busy" || reply.status === "late" || reply.status === "conflict") {
      this.#mayBeThere = false;
    }
    if (this.#phase !== "asking") return;
    switch (reply.status) {
      case "granted":
        checkAcknowledged(this.#requests, acknowledged, this.#names);
        if (!this.#requests.trusts(answer)) {
          void this.#confirm({ contended: false });
          return;
        }
        this.#grant(
          ("grants" in reply ? reply.grants : [reply]).map(({ token, pttlMs }, i) => {
            // The short way of the script answers no lease, since it is the whole one.
            const leaseMs = (this.#parts[i] as Part).leaseMs;
            return foundIn(answer, { token, pttlMs: Math.min(pttlMs, leaseMs) });
          }),
          { contended: false, claimed: false, place: "grants" in reply ? undefined : placeOf(reply) },
        );
        return;
      case "queued":
        this.#phase = "waiting";
        if (!this.#mayWait) this.#askKeeper();
        this.#placed(reply);
        if (this.#early !== undefined) this.handedOver(this.#early.message, this.#early.heardMs);
        this.#client.waits.queued(this);
        return;
      case "busy":
        this.#requests.sawToken(lock.key, reply.lastToken);
        this.#leave("over");
        this.#listener.unavailable();
        return;
      case "late":
        // The acquire reached the server after the date until which it was to be executed.
        this.failed(this.#error("Redis took the request up only after its time, and did nothing"));
        return;
      case "conflict":
        this.failed(conflictError(reply, request));
    }
  }

  /** From now on the place in the queue is kept. `"heartbeat"`: also asks at once whether its turn has come. */
  #wait(how: "heartbeat" | "quietly"): void {
    const { waits } = this.#client;
    this.#phase = "waiting";
    if (how === "heartbeat") waits.heartbeatNow(this);
    waits.queued(this);
  }

  #placed(place: Queued): void {
    const { lock, owner } = this;
    this.#voidUpTo = place.lastToken;
    this.behind = place.position > 0;
    if (place.appended) this.#label();
    this.#requests.sawToken(lock.key, place.lastToken);
    const channel = lock.scripts.channelFor(lock.names, owner, place);
    // A waiter behind the first mostly has nothing to watch for.
    if (!this.behind || channel !== null)
      this.#watch ??= new PlaceWatch(this.#requests, () => this.#client.waits.heartbeatNow(this));
    this.#watch?.placed(place, channel);
    if (this.#mayWait) this.#listener.waiting();
  }

  /**
   * A kept lock looks held although it may have no owner. Its provider gives it up when a waiter is queued behind it. So this
   * request stays queued for `keepAskMs`.
   */
  #askKeeper(): void {
    const { runtime, settings } = this.#requests;
    this.#endAsking = runtime.setTimer(settings.keepAskMs, () => this.#refused(), { ref: true });
  }

  #refused(): void {
    if (!this.queued) return;
    this.#takeBack().then(
      () => this.#withdrawn || this.#listener.unavailable(),
      (error) => this.#withdrawn || this.#listener.failed(error),
    );
  }

  /** Called when the owner was queued by this answer, or granted: sets its label for others to read. */
  #label(): void {
    const { label } = this.#parts[0].request;
    const { lock, owner, leaseMs } = this;
    if (label === null || lock.scripts.labels !== true) return;
    // Others only read the label. If it could not be set, it is missing and nothing else happens.
    this.#labelled = setLabel(this.#requests, lock.names, { owner, leaseMs, label }).catch(() => false);
  }

  /**
   * A grant that was not the answer to the acquire. It is delivered if enough of its time is certainly left; otherwise a renewal
   * confirms it first.
   */
  #offer(offer: Offer): void {
    this.#listener.notified();
    if (!this.queued) return;
    if (isSure(this.#requests, this.lock, this.leaseMs, offer))
      this.#grant([offer], { contended: true, claimed: true });
    else void this.#confirm({ contended: true });
  }

  /**
   * Asks for the hold by a renewal. If the renewal does not confirm it, a request that may not wait fails with an error to its
   * caller, and gets no place in the queue.
   */
  async #confirm({ contended }: { readonly contended: boolean }): Promise<void> {
    this.#phase = "confirming";
    this.#roundTrips++;
    const confirming = (): boolean => this.#phase === "confirming";
    try {
      const found = await Promise.all(this.#parts.map((part) => confirmHold(this.#requests, part)));
      if (!confirming()) return;
      if (found.every((each) => each !== null)) this.#grant(found, { contended, claimed: false });
      else if (this.#mayWait) this.#wait("heartbeat");
      else this.failed(this.#error("granted, and no renewal could confirm it"));
    } catch (error) {
      if (!confirming()) return;
      const passing = error instanceof BackendError && error.retryable;
      if (passing && this.#mayWait && this.#requests.settings.acks === 0) this.#wait("quietly");
      else this.failed(error);
    }
  }

  #grant(
    found: readonly Found[],
    how: { readonly contended: boolean; readonly claimed: boolean; readonly place?: GrantPlace | undefined },
  ): void {
    this.#leave("granted");
    const grants = this.#parts.map(
      (part, i) =>
        new RedisGrant(this.#client, {
          lock: part.lock,
          owner: part.owner,
          field: part.lock.fieldOf(part.owner),
          leaseMs: part.leaseMs,
          found: found[i] as Found,
          roundTrips: this.#roundTrips,
          revocable: part.request.revocable,
          ...how,
          release: () => this.#release(part, how.contended),
        }),
    ) as [RedisGrant, ...RedisGrant[]];
    this.#grants = grants;
    this.#label();
    // A caller that is notified that it leads must find itself under its label.
    const states = this.#listener.granted(grants, this.#labelled);
    for (const [i, state] of states.entries()) grants[i]?.enter(state);
    if (how.claimed) this.#client.holds.claimSoon(grants[0]);
  }

  #release(part: Part, contended: boolean): Promise<boolean> {
    const released = this.#giveBack(part);
    // If the lock was granted by the answer to its only request, no copy of another request can still arrive.
    if (contended) this.#client.waits.end(part, released);
    // The first request, whose answer was lost, may still arrive by another connection, and would take the lock for no client.
    if (this.#lateUntilMs !== null)
      Promise.allSettled([released])
        .then(() => this.#cancel(part))
        .catch(() => {
          // If this fails, the lock stays taken for a lease, as after the crash of a client.
        });
    return released;
  }

  /** `false` when the hold was no longer ours. */
  async #giveBack({ owner, lock, leaseMs }: Part): Promise<boolean> {
    const endMs = this.#requests.runtime.nowMs() + leaseMs;
    const { reply, repeated } = await this.#requests.runUntilAnswered(lock.release(owner), endMs);
    if (reply === null) return false;
    // Rule 3: if an earlier attempt may have run, "gone" is the result of that attempt.
    return reply.status !== "gone" || repeated;
  }

  #leave(phase: "granted" | "over"): void {
    this.#phase = phase;
    this.#endAsking?.();
    this.#watch?.end();
    if (this.#alone) this.#client.waits.remove(this);
  }

  #error(message: string): BackendError {
    return new BackendError(message, ofLock(this.#names));
  }

  get #names(): string {
    return this.#parts.map(({ lock }) => lock.name).join(", ");
  }
}

/** The place of a grant among the grants of its lock; `undefined` where the answer lacks the previous token. */
function placeOf({ token, before }: Granted): GrantPlace | undefined {
  return before === undefined ? undefined : { at: String(token), after: String(before) };
}

/** The lock's keys hold something that is not a lock of this kind. */
function conflictError({ found }: Conflict, { name, kind }: GrantRequest): LayoutConflictError {
  const what =
    found === "token"
      ? "its token key holds something that is no token"
      : `its key holds ${found === "read-write-lock" ? "a read-write lock" : `a Redis ${found}`}`;
  return new LayoutConflictError(`"${name}" cannot be a ${kind}: ${what}`, ofLock(name));
}
