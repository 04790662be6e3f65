import type { Attempt, AttemptListener, Grant, GrantRequest, GrantState, LockDriver } from "../api/driver.js";
import {
  type AcquireTimeoutError,
  BackendError,
  LockLostError,
  type ProviderClosedError,
  QuorumError,
  UnsupportedError,
} from "../api/errors.js";
import type { Millis } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import {
  type Asked,
  evictedAtGrant,
  goneBeforeDelivery,
  noAnswer,
  timedOut,
  type Unanswered,
  unheardMs,
  unreachable,
} from "./acquire-errors.js";
import {
  type Outcome,
  reportSettled,
  reportStarted,
  reportWhileWaiting,
  type Traces,
  traceEnd,
  tracesOf,
} from "./acquire-report.js";
import type { AcquireSpec, AcquireSpecs } from "./acquire-spec.js";
import type { GrantEngine, Waiting } from "./engine.js";
import { Handle } from "./handle.js";
import { Hold } from "./hold.js";
import type { LongWait } from "./long-waits.js";

type Phase =
  | "connecting" // waits for the link
  | "guarded" // waits until what an earlier request of ours left behind under this name is cleared
  | "doubting" // a read beside a write: waits until the write is certain again
  | "asking" // an attempt is under way; its reports count only in this phase
  | "preparing" // granted, and work is under way that has to be over before the delivery
  | "granted" // granted, and not delivered yet
  | "clearing" // an attempt that failed is being withdrawn, before another is made
  | "moving" // the session of the attempt ended: waits for the next session
  | "proving" // granted, but contact broke before the delivery: asks whether the grant still stands
  | "resting" // between two attempts
  | "settled"; // the call is over; what is left of the attempt is taken back in the background

/** An outage that lasts too long ends the call, except in these phases, which have a limit of their own. */
const outlastsOutages: ReadonlySet<Phase> = new Set(["connecting", "doubting", "resting", "settled"]);

/** Resolves when `claim()` or `claimAll()` has to go on; `null`: the call is over. */
type News = Promise<void> | null;

/** Acquires one lock. Resolves to `null`, instead of rejecting with `AcquireTimeoutError`, when `spec.throws` is false. */
export async function claim(engine: GrantEngine, spec: AcquireSpec): Promise<Handle | null> {
  const claim = new Claim(engine, [spec]);
  for (let news: News = claim.start(); news !== null; news = claim.proceed()) await news;
  return claim.handles?.[0] ?? null;
}

/**
 * Like `claim`, for several locks of one `jointGroup`: all or none. Rejects with `UnsupportedError` where the driver
 * has no such groups.
 */
export async function claimAll(engine: GrantEngine, specs: AcquireSpecs): Promise<readonly Handle[] | null> {
  if (specs.length > 1 && engine.driver.jointGroup === undefined) {
    const { backend } = engine;
    throw new UnsupportedError(`the backend ${backend} cannot grant several locks together`, { backend });
  }
  const claim = new Claim(engine, specs);
  for (let news: News = claim.start(); news !== null; news = claim.proceed()) await news;
  return claim.handles;
}

/**
 * Like `claim`, for a read beside a write that is held. There is no gap between them: once the write is released, the read
 * has the write's place in the queue. The call changes nothing of the write, and asks for no read while the write is in
 * doubt. Rejects with the write's `LockLostError` when the write is lost before the delivery. `null`: the holder has released
 * the write meanwhile.
 */
export async function claimBeside(write: Hold, spec: AcquireSpec): Promise<Handle | null> {
  const { engine, name } = write;
  if (engine.driver.attemptBeside === undefined) {
    throw engine.unsupported(`the backend ${engine.backend} has no read beside a write`, name);
  }
  return await claim(engine, { ...spec, beside: write });
}

/**
 * One acquire from its start to a grant or a refusal, for one lock or for several together. The driver makes attempts; the
 * claim asks again when an attempt ends without a result for the caller. Time-out, abort, loss of contact, closing and the
 * grant race here: the first to reach `#decide` or `#deliver` wins, and the others find that the phase has changed.
 *
 * `claim()` and `claimAll()` await `start()`. Each time that the promise which they await has resolved, they call `proceed()`
 * and await its result.
 *
 * The time limit is on the call and not on its attempts: the promise settles at the limit, whatever the server does. What is
 * left of the attempt is taken back in the background, and the next acquire of that name by this provider waits for that.
 */
class Claim extends Alarm implements AttemptListener, Waiting, LongWait {
  /** `null` unless granted. */
  handles: readonly Handle[] | null = null;
  /** When the backend answered that a request without a limit has to wait, or refused it again; otherwise `Infinity`. */
  queuedMs: Millis = Infinity;
  /** What is in the way of the request, if it is no hold of another client. */
  blockedBy: Error | undefined;

  /** The first spec, which stands for all of them where they have to be alike. */
  readonly spec: AcquireSpec;
  readonly #engine: GrantEngine;
  readonly #specs: AcquireSpecs;
  #phase: Phase = "connecting";
  /** The promise that `claim()` or `claimAll()` awaits. */
  #news!: Promise<void>;
  #wake!: () => void;
  #callSite: Error | undefined;
  #callSiteAsked = false;
  /** What the call rejects with, once it is settled. */
  #failure: { readonly error: unknown } | undefined;
  /** The failure, if the claim itself made it because the wait ran out. It was made in an alarm, whose stack names no caller. */
  #ranOut: Error | undefined;
  #attempt: Attempt | undefined;
  /** The holds of the last grant. They count until the delivery, or until the end of that attempt. */
  #holds: readonly Hold[] = [];
  readonly #startedMs: Millis;
  readonly #deadlineMs: Millis;
  #retries = 0;
  /** The round trips of attempts on sessions that have ended. */
  #roundTrips = 0;
  /** The error that ended the last failed attempt. */
  #lastFailure: unknown;
  #sentEpoch = 0;
  /**
   * A server has answered that the request has to wait. If the wait then runs out, the reason is contention and not an outage.
   */
  #answered = false;
  /** The limit has passed without an answer, and the call waits `unheardMs` longer. */
  #late = false;
  #aborted: (() => void) | undefined;
  #unwatchWrite: (() => void) | undefined;
  #traces: Traces;

  constructor(engine: GrantEngine, specs: AcquireSpecs) {
    super();
    this.#engine = engine;
    this.#specs = specs;
    this.spec = specs[0];
    const { startedMs, options } = specs[0];
    const { waitMs } = options;
    this.#startedMs = startedMs ?? engine.runtime.nowMs();
    this.#deadlineMs = this.#startedMs + (waitMs === 0 ? engine.options.connectTimeoutMs : waitMs);
  }

  /** Begins the acquire. Throws when the provider is closed or closing, and when `signal` has aborted. */
  start(): Promise<void> {
    const engine = this.#engine;
    const { beside, name, options } = this.spec;
    const { signal } = options;
    // A read beside a write takes nothing new, so holders may still ask for it during the grace of a close.
    if (beside === undefined ? engine.closing : engine.closed) throw engine.closedError(name);
    if (signal?.aborted === true) throw signal.reason;
    const news = this.#nextNews();
    engine.waiting.add(this);
    // The signal is listened to before the event is emitted, because a listener of the event may abort it. The call is over then.
    if (signal !== undefined) {
      this.#aborted = () => this.#decide("aborted", signal.reason);
      engine.signals.add(signal, this.#aborted);
    }
    if (!this.#reportsLate) {
      this.#traces = tracesOf(engine, this.#specs);
      for (const [i, spec] of this.#specs.entries()) reportStarted(engine, spec, this.#traces?.[i]);
    }
    if (this.#phase !== "settled") {
      engine.waitAlarms.set(this, this.#deadlineMs);
      this.#connectAndAsk();
    }
    // A claim that reports late publishes these traces in `#reportSettled()`.
    if (!this.#reportsLate) this.#traces?.forEach(traceEnd);
    return news;
  }

  /** What to await next; `null` when the call is over, and then `handles` is its result. Throws what it rejects with. */
  proceed(): News {
    if (this.#callSiteAsked) {
      this.#callSiteAsked = false;
      this.#callSite = new Error("waits since this call");
      // A grant that came in this turn has to wait for one more turn of the microtasks.
      if (this.#phase === "granted") return Promise.resolve();
    }
    // One turn of the microtasks has passed since the grant, so core has processed what had arrived together with it.
    if (this.#phase === "granted") this.#considerGrant();
    if (this.#failure !== undefined) {
      // Here the stack names the functions that await the call.
      if (this.#ranOut !== undefined) Error.captureStackTrace(this.#ranOut);
      throw this.#failure.error;
    }
    return this.#phase === "settled" ? null : this.#nextNews();
  }

  /**
   * An error whose stack names the functions that await the call. `proceed()` makes it, because there `claim()` or
   * `claimAll()` runs.
   */
  async callSite(): Promise<Error | undefined> {
    this.#callSiteAsked = true;
    this.#wake();
    // `claim()` or `claimAll()` has awaited this promise before, and so goes on first.
    await this.#news;
    return this.#callSite;
  }

  #nextNews(): Promise<void> {
    this.#news = new Promise((resolve) => {
      this.#wake = resolve;
    });
    return this.#news;
  }

  // -------- what the attempt reports

  waiting(blockedBy?: Error): void {
    if (this.#phase !== "asking") return;
    this.blockedBy = blockedBy;
    this.#countLongWait();
    if (!this.#answered) this.#engine.sayWaits?.(this.#specs, this);
    this.#answered = true;
    // The alarm decides the time-out, and not this call: a driver must not be cancelled from inside its own step.
    if (this.#late) this.#engine.waitAlarms.set(this, this.#deadlineMs);
  }

  /** From now on the time counts after which a warning is emitted for a wait without a limit. */
  #countLongWait(): void {
    const { longWaits, runtime } = this.#engine;
    if (this.queuedMs !== Infinity || this.#deadlineMs !== Infinity) return;
    this.queuedMs = runtime.nowMs();
    longWaits.add(this);
  }

  notified(): void {
    if (this.#phase === "asking") reportWhileWaiting(this.#engine, this.#specs, "notified", {});
  }

  requeued(reason: "entry-gone"): void {
    if (this.#phase === "asking") reportWhileWaiting(this.#engine, this.#specs, "requeued", { reason });
  }

  sequenceHigh(sequence: number): void {
    if (this.#phase === "asking")
      reportWhileWaiting(this.#engine, this.#specs, "sequence-high", { sequence });
  }

  granted(
    grants: readonly [Grant, ...Grant[]],
    first?: Promise<unknown>,
  ): readonly [GrantState, ...GrantState[]] {
    const holds = grants.map((grant, i) => {
      const spec = this.#specs[i] as AcquireSpec;
      const hold = new Hold(this.#engine, spec, spec.options, grant, this.#sentEpoch);
      // The read has the token of the write, and so its turn too.
      if (spec.beside !== undefined) {
        hold.turn = spec.beside.turn;
        hold.lent = spec.beside.lent;
      }
      return hold;
    });
    if (this.#phase === "asking") {
      this.#phase = "preparing";
      this.#holds = holds;
      if (first === undefined) this.#prepared();
      else Promise.allSettled([first]).then(() => this.#prepared());
    }
    return holds as [Hold, ...Hold[]];
  }

  #prepared(): void {
    if (this.#phase !== "preparing") return;
    this.#phase = "granted";
    this.#wake();
  }

  unavailable(): void {
    if (this.#phase !== "asking") return;
    this.#attempt = undefined;
    this.#decide("unavailable");
  }

  failed(error: unknown): void {
    if (this.#phase !== "asking") return;
    const { beside } = this.spec;
    if (beside !== undefined && !beside.givenBack && error instanceof LockLostError) {
      // The backend's answer shows the loss before the driver has reported it to the write. The loss of the write
      // then ends this call.
      beside.lose(error.reason);
    } else this.#again(error);
  }

  sessionEnded({ queued, roundTrips }: { readonly queued: boolean; readonly roundTrips: number }): void {
    if (this.#phase !== "asking") return;
    this.#attempt = undefined;
    this.#roundTrips += roundTrips;
    this.#move(queued);
  }

  // -------- what else may end it

  providerClosed(error: ProviderClosedError): void {
    this.#decide("error", error);
  }

  closing(error: ProviderClosedError): void {
    if (this.spec.beside === undefined) this.#decide("error", error);
  }

  outage(error: unknown): void {
    if (this.spec.beside === undefined && !outlastsOutages.has(this.#phase)) this.#decide("error", error);
  }

  ring(): void {
    const { runtime, waitAlarms } = this.#engine;
    const nowMs = runtime.nowMs();
    if (nowMs < this.#deadlineMs || this.#phase === "resting") {
      waitAlarms.set(this, this.#deadlineMs);
      if (this.#phase === "resting") this.#connectAndAsk();
    } else if (this.#answered || this.#phase === "doubting") {
      this.#decide("timeout");
    } else if (!this.#late) {
      this.#late = true;
      waitAlarms.set(this, nowMs + unheardMs);
    } else {
      this.#decide("error", this.#inVain(noAnswer(this.#asked, this.#unanswered(nowMs))));
    }
  }

  #unanswered(nowMs: Millis): Unanswered {
    const { connectTimeoutMs } = this.#engine.options;
    const passedMs = nowMs - this.#startedMs;
    return { passedMs, connectTimeoutMs, guarded: this.#phase === "guarded", cause: this.#lastFailure };
  }

  // -------- the way to a grant

  #connectAndAsk(): void {
    const { beside } = this.spec;
    if (beside !== undefined && !this.#writeCertain(beside)) return;
    if (this.#engine.link.state !== "connected") {
      this.#connect();
      return;
    }
    const left = this.#leftBehind();
    if (left === undefined) {
      this.#ask();
      return;
    }
    // This waits only for what was left when this request came. Otherwise, requests that are given up later could
    // delay it for ever.
    this.#phase = "guarded";
    left.then(() => {
      if (this.#phase !== "guarded") return;
      if (this.#engine.link.state === "connected") this.#ask();
      else this.#connect();
    });
  }

  /**
   * Resolves when what earlier requests left under these names is cleared: late grants are given back, and entries of ours
   * are gone. The next request for such a name is sent only after that. `undefined`: nothing is left.
   */
  #leftBehind(): Promise<unknown> | undefined {
    // A read beside a write does not wait for what is left under that name.
    if (this.spec.beside !== undefined) return undefined;
    let left: Promise<unknown> | undefined;
    for (const { name } of this.#specs) {
      const pending = this.#engine.pendingRelease(name);
      if (pending !== undefined) left = left === undefined ? pending : Promise.all([left, pending]);
    }
    return left;
  }

  /** Whether the write is held and not in doubt. While it is in doubt no read is asked for. */
  #writeCertain(write: Hold): boolean {
    if (!this.#writeHeld(write)) return false;
    if (write.state === "held") return true;
    if (this.spec.options.waitMs === 0) this.#decide("timeout");
    else this.#phase = "doubting";
    return false;
  }

  /** Whether the write is still held. A write that is over ends the call; otherwise the claim watches the write for its end. */
  #writeHeld(write: Hold): boolean {
    const { state } = write;
    this.#unwatchWrite?.();
    if (state === "lost") this.#decide("error", write.lossError());
    else if (state === "released") this.#decide("unavailable");
    else {
      this.#unwatchWrite = write.watch(() => {
        if (this.#phase === "doubting") this.#connectAndAsk();
        else if (this.#phase !== "settled") this.#writeHeld(write);
      });
    }
    return this.#phase !== "settled";
  }

  #connect(): void {
    const { link, options, runtime } = this.#engine;
    this.#phase = "connecting";
    const leftMs = this.#deadlineMs - runtime.nowMs();
    const contact =
      leftMs < options.connectTimeoutMs
        ? link.whenConnected({ waitMs: Math.max(0, leftMs) })
        : this.#engine.contact();
    this.#engine.afterContact(
      contact,
      () => this.#phase === "connecting" && this.#connectAndAsk(),
      (error) => this.#phase === "connecting" && this.#decide("error", this.#withoutContact(error)),
    );
  }

  /** The link's error says which servers it tried, but not for which call. This makes an error that says both. */
  #withoutContact(error: unknown): unknown {
    if (!(error instanceof BackendError) || !error.retryable) return error;
    return this.#inVain(unreachable(this.#asked, this.#unanswered(this.#engine.runtime.nowMs()), error));
  }

  #ask(): void {
    const { driver, clockJump } = this.#engine;
    this.#phase = "asking";
    if (driver.capabilities.lease === "ttl") this.#sentEpoch = clockJump.read();
    // The driver may run the caller's own code, such as a function that chooses an ACL. That code may abort the call, which
    // is then settled.
    const settled = (): boolean => this.#phase === "settled";
    try {
      const attempt = this.#newAttempt();
      if (settled()) void this.#withdraw(attempt);
      else this.#attempt = attempt;
    } catch (error) {
      if (!settled()) this.#failed(error);
    }
  }

  #newAttempt(): Attempt {
    const { driver, keepings } = this.#engine;
    const { beside, options } = this.spec;
    if (beside === undefined) {
      const requests = requestsOf(this.#specs);
      return keepings === null
        ? driver.attempt(requests, this)
        : keepings.attempt(this.#specs, requests, this);
    }
    const { leaseMs, label, revocable } = options;
    const write = beside.grantToBuildOn();
    return (driver as Required<LockDriver>).attemptBeside(write, { leaseMs, label, revocable }, this);
  }

  /** The place is gone with the session, or there was none yet: the claim asks again on the next session, at the tail. */
  #move(queued: boolean): void {
    this.#afterContact("moving", () => this.#ask());
    if (queued) reportWhileWaiting(this.#engine, this.#specs, "requeued", { reason: "session-lost" });
  }

  /** Calls `next` once there is contact, unless the phase has changed by then. */
  #afterContact(phase: "moving" | "proving", next: () => void): void {
    const { link } = this.#engine;
    this.#phase = phase;
    const contact = link.state === "connected" ? Promise.resolve() : this.#engine.contactRegained();
    this.#engine.afterContact(
      contact,
      () => {
        if (this.#phase !== phase) return;
        if (link.state === "connected") next();
        else this.#afterContact(phase, next);
      },
      (error) => this.#phase === phase && this.#decide("error", this.#engine.typed(error, this.spec.name)),
    );
  }

  #considerGrant(): void {
    const holds = this.#holds;
    if (this.#inDoubt(holds)) return this.#regainContact(holds);
    const stand = allStand(holds);
    // A driver may find a doubt only while a deadline is read, as after a sleep. A listener of that may have ended this call.
    if (this.#phase !== "granted") return;
    if (!stand) this.#lost(holds, "the lease was over before the grant could be delivered");
    else if (this.#inDoubt(holds)) this.#regainContact(holds);
    else this.#deliver(holds);
  }

  #inDoubt(holds: readonly Hold[]): boolean {
    return this.#engine.link.state !== "connected" || holds.some(({ inDoubt }) => inDoubt);
  }

  /** Contact broke between the grant and its delivery. The grant counts once a round trip has shown that it still stands. */
  #regainContact(holds: readonly Hold[]): void {
    this.#afterContact("proving", () => this.#prove(holds));
  }

  #prove(holds: readonly Hold[]): void {
    if (holds.some(sessionOver)) {
      this.#lost(holds, "the session ended");
      return;
    }
    Promise.all(holds.map((hold) => hold.prove())).then(
      (proven) => {
        if (this.#phase !== "proving") return;
        const stand = allStand(holds) && !proven.includes(false);
        if (this.#phase !== "proving") return;
        if (!stand) this.#lost(holds, "the grant was gone when contact came back");
        else if (this.#inDoubt(holds)) this.#regainContact(holds);
        else this.#deliver(holds);
      },
      (error) => {
        if (this.#phase !== "proving") return;
        const { link, driver } = this.#engine;
        if (holds.some(sessionOver)) this.#lost(holds, "the session ended");
        // Either the session goes on and the grant stands, or both are over. The next contact shows which.
        else if (driver.capabilities.lease === "session" && link.state !== "connected")
          this.#regainContact(holds);
        else this.#again(error);
      },
    );
  }

  /** The grant was over before the delivery. The caller never held the lock, so this is not reported as a loss. */
  #lost(holds: readonly Hold[], why: string): void {
    const stolen = holds.find(({ lossReason }) => lossReason === "stolen");
    if (holds.some(sessionOver)) {
      const attempt = this.#attempt as Attempt;
      this.#attempt = undefined;
      this.#roundTrips += holds[0]?.grant.roundTrips ?? 0;
      void this.#withdraw(attempt);
      this.#move(true);
    } else if (stolen !== undefined) this.#decide("error", evictedAtGrant(this.#asked, stolen.name));
    else this.#again(goneBeforeDelivery(this.#asked, why));
  }

  /** Withdraws the failed attempt first: anything that it may have left behind would be in the way of the next one. */
  #again(error: unknown): void {
    const attempt = this.#attempt as Attempt;
    this.#phase = "clearing";
    this.#attempt = undefined;
    this.#lastFailure = error;
    this.#withdraw(attempt).then(() => this.#phase === "clearing" && this.#failed(error));
  }

  /** After a transport error the claim tries again by the policy, as long as the caller waits. Every other error is final. */
  #failed(cause: unknown): void {
    const { runtime, options, waitAlarms } = this.#engine;
    // The cause as an error of ours. The abort reasons of callers never come here.
    const error = this.#engine.typed(cause, this.spec.name);
    const transport = error instanceof BackendError || error instanceof QuorumError;
    if (!transport || !error.retryable || this.spec.options.waitMs === 0) {
      this.#decide("error", error);
      return;
    }
    const nowMs = runtime.nowMs();
    const delayMs = options.retry.next(++this.#retries, nowMs - this.#startedMs, error);
    if (delayMs === null || nowMs + delayMs >= this.#deadlineMs) {
      this.#decide("error", error);
      return;
    }
    this.#phase = "resting";
    // A single failure may be an outage, which has a limit of its own. A failure that comes again is what the call waits for,
    // until the backend answers that it has to wait for a holder.
    if (this.#retries > 1) {
      this.blockedBy = error;
      this.#countLongWait();
    }
    waitAlarms.set(this, nowMs + delayMs);
  }

  // -------- the end

  #deliver(holds: readonly Hold[]): void {
    // A provider that closes rejects very many calls over several turns of the event loop. The turn of this call
    // has not come yet.
    const { closing, closed } = this.#engine;
    const { beside } = this.spec;
    // During the grace of a close a holder may still downgrade.
    if (beside === undefined ? closing : closed)
      return this.#decide("error", this.#engine.closedError(this.spec.name));
    // The write is checked in the same synchronous step in which the read gets into the books.
    if (beside !== undefined && !this.#writeHeld(beside)) return;
    // Below, deadlines are read, which may emit `uncertain`. A listener that aborts the call now comes too late.
    this.#phase = "settled";
    this.handles = holds.map((hold, i) => {
      const { options, handleFrom, onHold } = this.#specs[i] as AcquireSpec;
      hold.deliver();
      const handle = handleFrom?.(hold, options) ?? new Handle(hold, options);
      onHold?.(hold);
      return handle;
    });
    this.#settle("granted", undefined);
  }

  #decide(outcome: Outcome, error?: unknown): void {
    if (this.#phase === "settled") return;
    const attempt = this.#attempt;
    const { beside, throws } = this.spec;
    if (outcome === "error" || outcome === "aborted") this.#failure = { error };
    else if (throws && !(outcome === "unavailable" && beside !== undefined))
      this.#failure = { error: this.#inVain(this.#timedOut()) };
    // The withdrawal begins before the event is emitted. A listener of the event may ask for that name again, and its request
    // has to wait for what is taken back here.
    this.#phase = "settled";
    if (attempt !== undefined) void this.#withdraw(attempt);
    this.#settle(outcome, error);
  }

  #timedOut(): AcquireTimeoutError {
    const waitedMs = this.#engine.runtime.nowMs() - this.#startedMs;
    return timedOut(this.#asked, waitedMs, this.blockedBy ?? this.#lastFailure);
  }

  #inVain<E extends Error>(error: E): E {
    this.#ranOut = error;
    return error;
  }

  /** Never rejects. The event `release-failed` reports a failure, since something may be left. */
  #withdraw(attempt: Attempt): Promise<void> {
    const withdrawn = new Promise<void>((resolve) => resolve(attempt.withdraw()));
    this.#engine.cleanUp(this.#specs, withdrawn);
    return withdrawn.catch(() => {});
  }

  #settle(outcome: Outcome, error: unknown): void {
    const { waitAlarms, signals, waiting, longWaits } = this.#engine;
    const { signal } = this.spec.options;
    this.#phase = "settled";
    waitAlarms.clear(this);
    if (signal !== undefined && this.#aborted !== undefined) signals.remove(signal, this.#aborted);
    this.#unwatchWrite?.();
    waiting.delete(this);
    if (this.queuedMs !== Infinity) longWaits.remove(this);
    this.#reportSettled(outcome, error);
    this.#wake();
  }

  // -------- events and traces

  /**
   * Whether this claim reports its start only with its end, and nothing at all when it is refused. After a refusal its
   * caller, which asks once and has time left, goes on in another way.
   */
  get #reportsLate(): boolean {
    return this.spec.asksOnce === true && this.spec.options.waitMs > 0;
  }

  #reportSettled(outcome: Outcome, error: unknown): void {
    const engine = this.#engine;
    const late = this.#reportsLate;
    if (late && outcome === "unavailable") return;
    if (late) this.#traces = tracesOf(engine, this.#specs);
    if (!late && this.#traces === undefined && !engine.events.has("acquire-settled")) return;
    const waitedMs = engine.runtime.nowMs() - this.#startedMs;
    const contended = outcome === "unavailable" || outcome === "timeout" || this.#answered;
    for (const [i, spec] of this.#specs.entries()) {
      const trace = this.#traces?.[i];
      const hold = outcome === "granted" ? this.#holds[i] : undefined;
      const grant = hold?.grant;
      if (late) {
        reportStarted(engine, spec, trace);
        if (trace !== undefined) traceEnd(trace);
      }
      const detail = {
        outcome,
        waitedMs,
        roundTrips: grant === undefined ? 0 : this.#roundTrips + grant.roundTrips,
        contended: contended || grant?.contended === true,
        token: grant?.token ?? null,
        kept: hold?.lent ?? false,
        turn: hold?.turn ?? 0,
        ...(outcome === "error" && { error }),
      };
      reportSettled(engine, spec, detail, trace);
    }
  }

  /** What this call asked for, as errors name it. */
  get #asked(): Asked {
    return { specs: this.#specs, backend: this.#engine.backend };
  }
}

/** The specs as requests to the driver. */
function requestsOf(specs: AcquireSpecs): [GrantRequest, ...GrantRequest[]] {
  const requests = specs.map((spec): GrantRequest => {
    const { kind, name, mode, permits, options, limit = null, variant = null, asksOnce } = spec;
    const { leaseMs, label, revocable, waitMs } = options;
    const mayWait = waitMs > 0 && asksOnce !== true;
    // The provider may keep a mutex or a write that is renewed until its release, if the view has `keepMs`. It never keeps
    // what is granted together with other locks.
    const keepable = specs.length === 1 && options.keepMs > 0 && mode === "exclusive" && options.renew;
    return { kind, name, mode, permits, leaseMs, label, revocable, mayWait, limit, variant, keepable };
  });
  return requests as [GrantRequest, ...GrantRequest[]];
}

/** Checks each hold without stopping at the first that is over, so that every hold whose time has passed is marked as lost. */
function allStand(holds: readonly Hold[]): boolean {
  return holds.map((hold) => hold.check()).every(Boolean);
}

function sessionOver({ lossReason }: Hold): boolean {
  return lossReason === "session-expired";
}
