import {
  BackendError,
  type Grant,
  type GrantRequest,
  LayoutConflictError,
  type Millis,
  type Ticket,
  type TicketProgress,
} from "@holdfast/core";
import { NotSentError, OutcomeUnknownError } from "../client/errors.js";
import type { Answer, Subscription } from "../client/redis-line.js";
import { expiresServerMs, type HandOver } from "../layout/grant-message.js";
import type { Conflict, Queued, StandAnswer } from "../scripts/mutex/answers.js";
import type { BatchAnswer } from "./batches.js";
import type { RedisDesk } from "./desk.js";
import type { ExclusiveLock } from "./exclusive-lock.js";
import { checkAcknowledged, RedisHold, renewAcknowledged } from "./redis-hold.js";
import { marginMs } from "./server-clock.js";
import type { Wait } from "./waits.js";

type Phase =
  | "asking" // the acquire is under way
  | "waiting" // queued, as far as we know
  | "confirming" // holds by a message or heartbeat, and one renewal has to say so
  | "granted"
  | "over"; // cancelled or failed

/** Redis ends a TTL by its whole milliseconds, and a moment too early costs a request. */
const expiryGraceMs: Millis = 2;
/** Below this share of the claim lease a hand-over is not relied on: its holder would be late for its own first renewal. */
const leastShare = 1 / 3;
/** Who wants to hear of wishes waits for the first subscription of the provider, and not for ever. */
const subscriptionWaitMs: Millis = 1_000;
/** Heartbeats keep the bound of the server's clock this fresh, with some room for late ones. */
const freshBeats = 1.5;

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
  /** The token key's value in the last answer: no message with a token up to this is news. */
  #voidUpTo = 0n;
  /** A message that overtook the reply of the acquire. */
  #early: HandOver | undefined;
  #cancelled: Promise<void> | undefined;
  #cancelLapse: (() => void) | undefined;
  #java: { readonly channel: string; readonly subscription: Subscription } | undefined;

  constructor(desk: RedisDesk, lock: ExclusiveLock, request: GrantRequest, progress: TicketProgress) {
    this.#desk = desk;
    this.lock = lock;
    this.#request = request;
    this.#progress = progress;
    this.leaseMs = Math.max(1, Math.floor(request.leaseMs));
    this.owner = desk.freshOwner();
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
          untilMs: this.#trusts(answer) ? answer.sentMs + reply.pttlMs - marginMs(reply.pttlMs) : null,
          runId: answer.runId,
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

  /** Rule 1: a message is a hint with a date. The claim lease began at the server before the message arrived. */
  handedOver(message: HandOver): void {
    if (this.#phase === "asking") this.#early = message;
    if (this.#phase !== "waiting") return;
    const { line, clocks, runtime, waits } = this.#desk;
    // An answer that said `queued` with this token or a later one was given after the message was written.
    if (message.token <= this.#voidUpTo) return;
    const master = line.masterOf(this.lock.key);
    if (message.runId !== "" && message.runId !== master) {
      // Rule 9: of a master that is none any more. Whatever is true, the present one knows.
      waits.beatNow(this);
      return;
    }
    const clock = message.runId === "" ? undefined : clocks.of(master);
    const fresh = (clock?.ageMs(runtime.nowMs()) ?? Infinity) <= freshBeats * this.#desk.settings.heartbeatMs;
    const endMs = fresh ? clock?.localMs(expiresServerMs(message)) : null;
    this.#offer({
      token: message.token,
      untilMs: endMs === undefined || endMs === null ? null : endMs - marginMs(message.pttlMs),
      runId: message.runId,
    });
  }

  // -------- core's side

  cancel(): Promise<void> {
    this.#cancelled ??= this.#cancel();
    return this.#cancelled;
  }

  async #cancel(): Promise<void> {
    const { waits, runtime } = this.#desk;
    this.#hold?.abandon();
    this.#leave("over");
    waits.end(this);
    // No order between a request that waits for replicas and one that does not; and whether there is anything to take back.
    await this.#asked;
    if (!this.#mayBeThere) return;
    await this.#desk.runUntilAnswered(
      this.lock.cancel(this.owner, this.leaseMs),
      runtime.nowMs() + this.leaseMs + this.#desk.settings.aliveMs,
    );
  }

  // -------- the way to a grant

  async #acquire(): Promise<void> {
    const { settings, line, grantChannel } = this.#desk;
    const { mayWait, revocable } = this.#request;
    if (revocable) {
      await grantChannel.heard(subscriptionWaitMs);
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
      if (error instanceof NotSentError) this.#mayBeThere = false;
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
        if (!this.#trusts(answer)) {
          void this.#confirm();
          return;
        }
        this.#grant(
          {
            token: reply.token,
            untilMs: sentMs + reply.pttlMs - marginMs(reply.pttlMs),
            runId,
          },
          { contended: false, claimed: false },
        );
        return;
      case "queued":
        this.#phase = "waiting";
        this.#placed(reply);
        if (this.#early !== undefined) this.handedOver(this.#early);
        return;
      case "busy":
        this.#desk.sawToken(lock.key, reply.lastToken);
        this.#leave("over");
        this.#resolve(null);
        return;
      case "late":
        this.failed(
          new BackendError("Redis took the request up only after its time, and did nothing", {
            backend: "redis",
            lockName: lock.name,
          }),
        );
        return;
      case "conflict":
        this.failed(conflictError(reply, this.#request));
    }
  }

  #placed(place: Queued): void {
    const { runtime, waits } = this.#desk;
    this.#voidUpTo = place.lastToken;
    if (place.appended) this.lock.stood?.(this.owner);
    this.#desk.sawToken(this.lock.key, place.lastToken);
    this.#listen(this.lock.channelFor(this.owner, place));
    this.#cancelLapse?.();
    this.#cancelLapse = undefined;
    // Rule 5: a hold that lapses is told by nobody; the first in line looks when its time is over.
    if (place.position !== 0 || place.holderPttlMs < 0) return;
    // A heartbeat comes before that, and brings a newer date.
    if (place.holderPttlMs > freshBeats * this.#desk.settings.heartbeatMs) return;
    this.#cancelLapse = runtime.setTimer(place.holderPttlMs + expiryGraceMs, () => waits.beatNow(this));
  }

  /** Rule 6: Java tells nobody of ours but whoever listens to its channel. */
  #listen(channel: string | null): void {
    if (this.#java?.channel === channel) return;
    this.#java?.subscription.end();
    this.#java = undefined;
    if (channel === null) return;
    const beat = (): void => this.#desk.waits.beatNow(this);
    const subscription = this.#desk.line.subscribe(channel, "redisson", beat);
    this.#java = { channel, subscription };
    // It may have been freed before the subscription stood.
    subscription.ready.then(beat, () => {});
  }

  /** A grant that nobody answered to us: delivered if its time is sure to be left, else once a renewal has confirmed it. */
  #offer(found: { token: bigint; untilMs: Millis | null; runId: string }): void {
    const { settings, runtime, line } = this.#desk;
    this.#progress.notified();
    const leastMs = leastShare * Math.min(settings.claimLeaseMs, this.leaseMs);
    const { token, untilMs, runId } = found;
    const sure =
      settings.acks === 0 &&
      untilMs !== null &&
      runtime.nowMs() + leastMs < untilMs &&
      runId === line.masterOf(this.lock.key) &&
      line.state === "connected";
    if (sure) this.#grant({ token, untilMs, runId }, { contended: true, claimed: true });
    else void this.#confirm();
  }

  /** Rule 1: what was asked before a step of the server's clock was noticed says nothing of how long a hold lasts. */
  #trusts({ runId, sentMs }: { readonly runId: string; readonly sentMs: Millis }): boolean {
    return this.#desk.clocks.of(runId)?.trusts(sentMs) !== false;
  }

  async #confirm(): Promise<void> {
    const { lock, leaseMs } = this;
    const { settings, batches, line, waits } = this.#desk;
    this.#phase = "confirming";
    this.#roundTrips++;
    const entry = { field: lock.fieldOf(this.owner), leaseMs };
    const of = { renewal: lock.renewal, renewKeys: lock.renewKeys, lockName: lock.name };
    try {
      // Rule 11: counted for a write of the new holder itself.
      const asking =
        settings.acks > 0
          ? renewAcknowledged(this.#desk, of, entry)
          : batches.ask(lock.renewal, lock.renewKeys, entry);
      const { reply, sentMs, answeredMs, runId } = await asking;
      this.#desk.heard(reply.serverMs, { sentMs, answeredMs, runId });
      if (this.#phase !== "confirming") return;
      const counts = runId === line.masterOf(lock.key) && this.#trusts({ sentMs, runId });
      if (reply.status === "renewed" && counts) {
        // Rule 1: the token of this reply counts, not the message's: the message may be of an earlier turn of this very owner.
        const untilMs = sentMs + reply.pttlMs - marginMs(reply.pttlMs);
        this.#grant({ token: reply.token, untilMs, runId }, { contended: true, claimed: false });
        return;
      }
      this.#phase = "waiting";
      waits.beatNow(this);
    } catch (error) {
      if (this.#phase !== "confirming") return;
      const passing = error instanceof BackendError && error.retryable;
      if (!passing || settings.acks > 0) this.failed(error);
      else this.#phase = "waiting";
    }
  }

  #grant(
    found: { token: bigint; untilMs: Millis; runId: string },
    how: { readonly contended: boolean; readonly claimed: boolean },
  ): void {
    const { lock, owner, leaseMs } = this;
    const desk = this.#desk;
    desk.sawToken(lock.key, found.token);
    const hold = new RedisHold(desk, {
      lockName: lock.name,
      owner,
      key: lock.key,
      token: found.token,
      leaseMs,
      validUntilMs: found.untilMs,
      runId: found.runId,
      roundTrips: this.#roundTrips,
      contended: how.contended,
      claimed: how.claimed,
      revocable: this.#request.revocable,
      renewal: lock.renewal,
      renewKeys: lock.renewKeys,
      field: lock.fieldOf(owner),
      release: () => this.#release(),
    });
    this.#leave("granted");
    this.#hold = hold;
    desk.holds.addAlone(hold);
    lock.stood?.(owner);
    if (how.claimed) void hold.claim();
    this.#resolve(hold);
  }

  async #release(): Promise<boolean> {
    const { lock, owner, leaseMs } = this;
    this.#desk.waits.end(this);
    const endMs = this.#desk.runtime.nowMs() + leaseMs;
    const { reply, repeated } = await this.#desk.runUntilAnswered(lock.release(owner), endMs);
    if (reply === null) return false;
    // Rule 3: "not yours" after an attempt that may have run is what that attempt has left.
    return reply.status !== "gone" || repeated;
  }

  #leave(phase: "granted" | "over"): void {
    this.#phase = phase;
    this.#cancelLapse?.();
    this.#cancelLapse = undefined;
    this.#java?.subscription.end();
    this.#java = undefined;
    this.#desk.waits.remove(this);
  }
}

function conflictError(reply: Conflict, { name, kind }: GrantRequest): LayoutConflictError {
  const found =
    reply.found === "token"
      ? "its token key holds something that is no token"
      : `its key holds ${reply.found === "read-write-lock" ? "a read-write lock" : `a Redis ${reply.found}`}`;
  return new LayoutConflictError(`"${name}" cannot be a ${kind}: ${found}`, {
    lockName: name,
    backend: "redis",
  });
}
