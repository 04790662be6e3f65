import {
  BackendError,
  type Grant,
  type GrantRequest,
  type Millis,
  type Ticket,
  type TicketProgress,
} from "@holdfast/core";
import { nothingDone, OutcomeUnknownError } from "../client/errors.js";
import type { Answer } from "../client/redis-line.js";
import type { HandOver } from "../layout/grant-message.js";
import type { Queued, StandAnswer } from "../scripts/mutex/answers.js";
import type { BatchAnswer } from "./batches.js";
import { confirmHold, trusts } from "./confirmation.js";
import type { RedisDesk } from "./desk.js";
import { cancelStanding, enterHold, releaseHold } from "./exclusive-hold.js";
import type { ExclusiveLock } from "./exclusive-lock.js";
import { isSure, type Offer, offerOf } from "./hand-over.js";
import { PlaceWatch } from "./place-watch.js";
import { checkAcknowledged, type RedisHold } from "./redis-hold.js";
import { marginMs } from "./server-clock.js";
import { conflictError, lateError } from "./stand-errors.js";
import type { Wait } from "./waits.js";

type Phase =
  | "asking" // the acquire is under way
  | "waiting" // queued, as far as we know
  | "confirming" // holds by a message or heartbeat, and one renewal has to say so
  | "granted"
  | "over"; // cancelled or failed

/** One request for a lock that has a queue of ours. */
export class ExclusiveTicket implements Ticket, Wait {
  readonly owner: string;
  readonly lock: ExclusiveLock;
  readonly leaseMs: Millis;
  readonly granted: Promise<Grant | null>;
  readonly #desk: RedisDesk;
  readonly #request: GrantRequest;
  readonly #progress: TicketProgress;
  readonly #asked: Promise<void>;
  #phase: Phase = "asking";
  #resolve: (grant: Grant | null) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #hold: RedisHold | undefined;
  #roundTrips = 0;
  /** Something of this owner may be at the server. */
  #mayBeThere = false;
  /** As in `RedisDesk.runLast`. */
  #lateUntilMs: number | null = null;
  /** The token key's value in the last answer: no message with a token up to this is news. */
  #voidUpTo = 0n;
  /** A message that overtook the reply of the acquire. */
  #early: { readonly message: HandOver; readonly heardMs: Millis } | undefined;
  #cancelled: Promise<void> | undefined;
  readonly #watch: PlaceWatch;

  constructor(desk: RedisDesk, lock: ExclusiveLock, request: GrantRequest, progress: TicketProgress) {
    this.#desk = desk;
    this.lock = lock;
    this.#request = request;
    this.#progress = progress;
    this.leaseMs = Math.max(1, Math.floor(request.leaseMs));
    this.owner = desk.freshOwner();
    this.#watch = new PlaceWatch(desk, lock, this.owner, () => desk.waits.beatNow(this));
    this.granted = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    desk.grantChannel.listen();
    desk.waits.add(this);
    this.#asked = this.#acquire();
  }

  // -------- the registry's side

  get standing(): boolean {
    return this.#phase === "waiting";
  }

  beaten(answer: BatchAnswer<StandAnswer>): void {
    const { reply } = answer;
    if (this.#phase !== "waiting") return;
    switch (reply.status) {
      case "granted":
        this.#offer({
          token: reply.token,
          untilMs: trusts(this.#desk, answer) ? answer.sentMs + reply.pttlMs - marginMs(reply.pttlMs) : null,
          runId: answer.runId,
          askedMs: answer.sentMs,
        });
        return;
      case "queued":
        if (reply.appended) this.#progress.requeued("entry-gone");
        this.#placed(reply);
        return;
      case "late":
        // The bound was wrong, and is forgotten by now.
        this.#desk.waits.beatNow(this);
        return;
      case "conflict":
        this.failed(conflictError(reply, this.#request));
        return;
      case "busy":
        this.failed(new RangeError("a heartbeat does not answer busy"));
    }
  }

  failed(error: unknown): void {
    if (this.#phase === "granted" || this.#phase === "over") return;
    this.#leave("over");
    this.#reject(error);
  }

  handedOver(message: HandOver, heardMs: Millis): void {
    if (this.#phase === "asking") this.#early = { message, heardMs };
    if (this.#phase !== "waiting") return;
    // Rule 1: an answer that said `queued` with this token or a later one was given after the message was written.
    if (message.token <= this.#voidUpTo) return;
    const offer = offerOf(this.#desk, this.lock, message, heardMs);
    if (offer === null) this.#desk.waits.beatNow(this);
    else this.#offer(offer);
  }

  // -------- core's side

  cancel(): Promise<void> {
    this.#cancelled ??= this.#cancel();
    return this.#cancelled;
  }

  async #cancel(): Promise<void> {
    const { waits } = this.#desk;
    this.#hold?.abandon();
    this.#leave("over");
    waits.end(this);
    // No order between a request that waits for replicas and one that does not; and whether there is anything to take back.
    await this.#asked;
    if (!this.#mayBeThere) {
      waits.forget(this.owner);
      return;
    }
    await cancelStanding(this.#desk, this, this.#lateUntilMs);
  }

  // -------- the way to a grant

  async #acquire(): Promise<void> {
    const { settings, line, grantChannel } = this.#desk;
    const { mayWait, revocable } = this.#request;
    if (revocable) {
      await grantChannel.heard();
      if (this.#phase !== "asking") return;
    }
    const { acks, waitTimeoutMs } = settings;
    const notAfterMs = this.#desk.notAfterMs(line.masterOf(this.lock.key), acks > 0 ? 2 * waitTimeoutMs : 0);
    const floor = this.#desk.floorOf(this.lock.key);
    const { owner, leaseMs } = this;
    const call = this.lock.acquire({ owner, leaseMs, mayWait, notAfterMs, floor });
    // Rule 11: WAIT behind every script that may grant.
    const options = acks > 0 ? { wait: { replicas: acks, timeoutMs: waitTimeoutMs } } : {};
    this.#mayBeThere = true;
    this.#roundTrips++;
    try {
      this.#answered(await this.#desk.run(call, options));
    } catch (error) {
      if (nothingDone(error)) this.#mayBeThere = false;
      this.#lateUntilMs = this.#desk.lateUntilMs(error, notAfterMs);
      // Rule 3: the same owner asks again; a heartbeat says what became of the first request, and does it where nothing did.
      if (error instanceof OutcomeUnknownError && mayWait && this.#phase === "asking") {
        this.#phase = "waiting";
        this.#desk.waits.beatNow(this);
      } else this.failed(error);
    }
  }

  #answered(answer: Answer<StandAnswer>): void {
    const { reply, sentMs, runId, acknowledged } = answer;
    const { lock } = this;
    if (reply.status === "busy" || reply.status === "late" || reply.status === "conflict") {
      this.#mayBeThere = false;
    }
    if (this.#phase !== "asking") return;
    switch (reply.status) {
      case "granted":
        checkAcknowledged(this.#desk, acknowledged, lock.name);
        if (!trusts(this.#desk, answer)) {
          void this.#confirm();
          return;
        }
        this.#grant(
          {
            token: reply.token,
            untilMs: sentMs + reply.pttlMs - marginMs(reply.pttlMs),
            runId,
            askedMs: sentMs,
          },
          { contended: false, claimed: false },
        );
        return;
      case "queued":
        this.#phase = "waiting";
        this.#placed(reply);
        if (this.#early !== undefined) this.handedOver(this.#early.message, this.#early.heardMs);
        this.#desk.waits.stands(this);
        return;
      case "busy":
        this.#desk.sawToken(lock.key, reply.lastToken);
        this.#leave("over");
        this.#resolve(null);
        return;
      case "late":
        this.failed(lateError(lock.name));
        return;
      case "conflict":
        this.failed(conflictError(reply, this.#request));
    }
  }

  #placed(place: Queued): void {
    this.#progress.waiting();
    this.#voidUpTo = place.lastToken;
    if (place.appended) this.lock.stood?.(this.owner);
    this.#desk.sawToken(this.lock.key, place.lastToken);
    this.#watch.placed(place);
  }

  /** A grant that nobody answered to us: delivered if its time is sure to be left, else once a renewal has confirmed it. */
  #offer(offer: Offer): void {
    this.#progress.notified();
    const { lock, leaseMs } = this;
    if (isSure(this.#desk, lock, leaseMs, offer)) this.#grant(offer, { contended: true, claimed: true });
    else void this.#confirm();
  }

  async #confirm(): Promise<void> {
    const { lock, owner, leaseMs } = this;
    const { settings, waits } = this.#desk;
    this.#phase = "confirming";
    this.#roundTrips++;
    try {
      const confirmed = await confirmHold(this.#desk, lock, owner, leaseMs);
      if (this.#phase !== "confirming") return;
      if (confirmed !== null) {
        this.#grant(confirmed, { contended: true, claimed: false });
        return;
      }
      this.#phase = "waiting";
      waits.beatNow(this);
    } catch (error) {
      if (this.#phase !== "confirming") return;
      const passing = error instanceof BackendError && error.retryable;
      if (!passing || settings.acks > 0) {
        this.failed(error);
        return;
      }
      this.#phase = "waiting";
      waits.stands(this);
    }
  }

  #grant(
    found: Offer & { readonly untilMs: Millis },
    how: { readonly contended: boolean; readonly claimed: boolean },
  ): void {
    const { lock, owner } = this;
    const desk = this.#desk;
    this.#leave("granted");
    const hold = enterHold(
      desk,
      this,
      this.#request,
      { ...found, ...how, roundTrips: this.#roundTrips },
      () => this.#release(),
    );
    this.#hold = hold;
    lock.stood?.(owner);
    if (how.claimed) void hold.claim();
    this.#resolve(hold);
  }

  #release(): Promise<boolean> {
    const released = releaseHold(this.#desk, this);
    // Granted by the answer to its only request: nothing was sent of which a copy could still come.
    if (this.#hold?.contended !== false) this.#desk.waits.end(this, released);
    return released;
  }

  #leave(phase: "granted" | "over"): void {
    this.#phase = phase;
    this.#watch.end();
    this.#desk.waits.remove(this);
  }
}
