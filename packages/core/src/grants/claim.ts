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
  | "guarded" // waits for what an earlier request of ours on this name has left behind
  | "doubting" // a read beside a write: waits until the write is certain again
  | "asking" // an attempt is under way: only now does it count what it reports
  | "preparing" // granted, and something is under way that the caller has to find done
  | "granted" // and not delivered yet
  | "clearing" // an attempt that failed is being withdrawn, before another is made
  | "moving" // its session ended: waits for the next one
  | "proving" // granted, but contact broke before the caller could have it
  | "resting" // between two attempts
  | "settled"; // what is left of the attempt is taken back behind the call

/** An outage that lasts too long ends the call in each phase but these, which have a limit of their own. */
const outlastsOutages: ReadonlySet<Phase> = new Set(["connecting", "doubting", "resting", "settled"]);

/** Resolves when there is news for the caller's function; `null`: the call is over. */
type News = Promise<void> | null;

/** Resolves to `null`, instead of rejecting with `AcquireTimeoutError`, when `spec.throws` is false. */
export async function claim(engine: GrantEngine, spec: AcquireSpec): Promise<Handle | null> {
  const claim = new Claim(engine, [spec]);
  for (let news: News = claim.start(); news !== null; news = claim.proceed()) await news;
  return claim.handles?.[0] ?? null;
}

/** Like `claim`, for several locks of one `jointGroup`: all or none. Rejects with `UnsupportedError` where the driver has no such groups. */
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
 * Like `claim`, for a read beside a write that is held, without a gap between them: the write's place in the queue is the read's once
 * the write is released. Touches nothing of the write, and is never built on a write in doubt. Rejects with the write's `LockLostError`
 * when that is lost before the delivery. `null`: the holder has released the write meanwhile.
 */
export async function claimBeside(write: Hold, spec: AcquireSpec): Promise<Handle | null> {
  const { engine, name } = write;
  if (engine.driver.attemptBeside === undefined) {
    throw engine.unsupported(`the backend ${engine.backend} has no read beside a write`, name);
  }
  return await claim(engine, { ...spec, beside: write });
}

/**
 * The way from one acquire to a grant or a refusal, of one lock or of several together. The driver makes attempts; the claim asks again
 * when one ends without an answer to the caller. Time-out, abort, loss of contact, closing and the grant race here: the first to reach
 * `#decide` or `#deliver` wins, and the others find the phase changed.
 *
 * The function that is called by the caller awaits `start()`, and then `proceed()` each time that what it awaited has resolved.
 *
 * The limit of a call bounds the call and not its attempts: the promise settles at its time whatever the server does. What is
 * left of the attempt is taken back behind the call, and the next acquire of that name by this provider waits for it.
 */
class Claim extends Alarm implements AttemptListener, Waiting, LongWait {
  /** `null` unless granted. */
  handles: readonly Handle[] | null = null;
  /** When a wait without a limit has begun, by the backend's answer. */
  queuedMs: Millis = Infinity;
  /** Why the request waits, where no hold of another client is in the way. */
  blockedBy: Error | undefined;

  /** Speaks for all where they have to be alike. */
  readonly spec: AcquireSpec;
  readonly #engine: GrantEngine;
  readonly #specs: AcquireSpecs;
  #phase: Phase = "connecting";
  /** What the caller's function awaits. */
  #news!: Promise<void>;
  #wake!: () => void;
  #callSite: Error | undefined;
  #callSiteAsked = false;
  /** What the call rejects with, once it is settled. */
  #failure: { readonly error: unknown } | undefined;
  /** The failure, where the claim itself has made it because the wait ran out: by an alarm, whose stack names no caller. */
  #ranOut: Error | undefined;
  #attempt: Attempt | undefined;
  /** From the grant to its delivery, or to the end of the attempt. */
  #holds: readonly Hold[] = [];
  readonly #startedMs: Millis;
  readonly #deadlineMs: Millis;
  #retries = 0;
  /** Round trips of the attempts on sessions that have ended. */
  #roundTrips = 0;
  /** What ended the last attempt that was to be made again. */
  #lastFailure: unknown;
  #sentEpoch = 0;
  /** A server has answered that the request has to wait: what ends the wait is contention, and no outage. */
  #answered = false;
  /** The limit has passed. */
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

  /** Sends the request. Throws where nothing may be asked for. */
  start(): Promise<void> {
    const engine = this.#engine;
    const { beside, name, options } = this.spec;
    const { signal } = options;
    // A read beside a write takes nothing new: holders may use the grace of a close for it.
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
    // A claim that reports late has done so with its end.
    if (!this.#reportsLate) this.#traces?.forEach(traceEnd);
    return news;
  }

  /** What to await next; `null` when the call is over, and then `handles` is its result. Throws what it rejects with. */
  proceed(): News {
    if (this.#callSiteAsked) {
      this.#callSiteAsked = false;
      this.#callSite = new Error("waits since this call");
      // A grant of this very turn has its own turn of the microtasks.
      if (this.#phase === "granted") return Promise.resolve();
    }
    // A turn of the microtasks after the grant: what had arrived with it was heard.
    if (this.#phase === "granted") this.#considerGrant();
    if (this.#failure !== undefined) {
      // Here the stack names the functions that await the call.
      if (this.#ranOut !== undefined) Error.captureStackTrace(this.#ranOut);
      throw this.#failure.error;
    }
    return this.#phase === "settled" ? null : this.#nextNews();
  }

  /** Made while the caller's function runs, since the stack there names those that await it. */
  async callSite(): Promise<Error | undefined> {
    this.#callSiteAsked = true;
    this.#wake();
    // The caller's function has awaited it before, and so runs before.
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
    if (!this.#answered && this.#deadlineMs === Infinity) {
      const { longWaits, runtime } = this.#engine;
      this.queuedMs = runtime.nowMs();
      longWaits.add(this);
    }
    if (!this.#answered) this.#engine.sayWaits?.(this.#specs, this);
    this.#answered = true;
    // Not at once: a driver that is in the middle of its step must not be cancelled from inside it.
    if (this.#late) this.#engine.waitAlarms.set(this, this.#deadlineMs);
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
      // The token is that of the write too.
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
      // The backend says so before anything has reported it to the write, whose end then decides.
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
    // Only for what was left when this request came: others that give up meanwhile must not put it off for ever.
    this.#phase = "guarded";
    left.then(() => {
      if (this.#phase !== "guarded") return;
      if (this.#engine.link.state === "connected") this.#ask();
      else this.#connect();
    });
  }

  /** A late grant is given back, and an entry of ours is gone, before the next request for that name is sent. */
  #leftBehind(): Promise<unknown> | undefined {
    // What stands beside a write waits for nothing of that name.
    if (this.spec.beside !== undefined) return undefined;
    let left: Promise<unknown> | undefined;
    for (const { name } of this.#specs) {
      const pending = this.#engine.pendingRelease(name);
      if (pending !== undefined) left = left === undefined ? pending : Promise.all([left, pending]);
    }
    return left;
  }

  /** Nothing is built on a write in doubt. */
  #writeCertain(write: Hold): boolean {
    if (!this.#writeHeld(write)) return false;
    if (write.state === "held") return true;
    if (this.spec.options.waitMs === 0) this.#decide("timeout");
    else this.#phase = "doubting";
    return false;
  }

  /** Nothing is left to ask for beside a write that is over. */
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

  /** The link knows how long it tried which servers, and not for what call. */
  #withoutContact(error: unknown): unknown {
    if (!(error instanceof BackendError) || !error.retryable) return error;
    return this.#inVain(unreachable(this.#asked, this.#unanswered(this.#engine.runtime.nowMs()), error));
  }

  #ask(): void {
    const { driver, clockJump } = this.#engine;
    this.#phase = "asking";
    if (driver.capabilities.lease === "ttl") this.#sentEpoch = clockJump.read();
    // Code of the caller's that the driver runs, such as the choice of an ACL, may abort the call: it is settled then.
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

  /** The place went with the session, or there was none yet: the next session asks again, at the tail. */
  #move(queued: boolean): void {
    this.#afterContact("moving", () => this.#ask());
    if (queued) reportWhileWaiting(this.#engine, this.#specs, "requeued", { reason: "session-lost" });
  }

  /** Goes on if nothing has changed the phase until then. */
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
    if (this.#engine.link.state !== "connected" || holds.some(({ inDoubt }) => inDoubt))
      this.#regainContact(holds);
    else if (allStand(holds)) this.#deliver(holds);
    else this.#lost(holds, "the lease was over before the grant could be delivered");
  }

  /** Contact broke between the grant and its delivery: it counts once a round trip has shown that it still stands. */
  #regainContact(holds: readonly Hold[]): void {
    this.#afterContact("proving", () => this.#prove(holds));
  }

  #prove(holds: readonly Hold[]): void {
    if (holds.some(sessionOver)) {
      this.#lost(holds, "the session ended");
      return;
    }
    Promise.all(holds.map((hold) => hold.prove())).then(
      (stand) => {
        if (this.#phase !== "proving") return;
        if (stand.includes(false) || !allStand(holds))
          this.#lost(holds, "the grant was gone when contact came back");
        else if (holds.some(({ inDoubt }) => inDoubt)) this.#regainContact(holds);
        else this.#deliver(holds);
      },
      (error) => {
        if (this.#phase !== "proving") return;
        const { link, driver } = this.#engine;
        if (holds.some(sessionOver)) this.#lost(holds, "the session ended");
        // The session goes on with the grant or ends with it, and the next contact shows which.
        else if (driver.capabilities.lease === "session" && link.state !== "connected")
          this.#regainContact(holds);
        else this.#again(error);
      },
    );
  }

  /** The caller never held it, so its end is not the loss of anything. */
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

  /** Whatever the failed attempt may have left behind would stand in the way of the next one. */
  #again(error: unknown): void {
    const attempt = this.#attempt as Attempt;
    this.#phase = "clearing";
    this.#attempt = undefined;
    this.#lastFailure = error;
    this.#withdraw(attempt).then(() => this.#phase === "clearing" && this.#failed(error));
  }

  /** Transport errors are tried again by the policy, as long as the caller waits; everything else is final. */
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
    waitAlarms.set(this, nowMs + delayMs);
  }

  // -------- the end

  #deliver(holds: readonly Hold[]): void {
    // The provider closes, and rejects very many calls in turns: the turn of this call has not come yet.
    if (this.#engine.closed) return this.#decide("error", this.#engine.closedError());
    // In the same turn in which the write was seen to stand: from here on the read is in the books.
    const { beside } = this.spec;
    if (beside !== undefined && !this.#writeHeld(beside)) return;
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
    // This comes before the event, whose listener may ask for that name again: its request waits for what is taken back here.
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

  /** Never rejects; a failure is an event `release-failed`, since something may be left. */
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

  /** A caller that asks once and has time left goes on in another way, so of this claim only an end that is no refusal is reported. */
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

  /** What was asked for, as errors name it. */
  get #asked(): Asked {
    return { specs: this.#specs, backend: this.#engine.backend };
  }
}

/** What the driver has to know of the specs. */
function requestsOf(specs: AcquireSpecs): [GrantRequest, ...GrantRequest[]] {
  const requests = specs.map((spec): GrantRequest => {
    const { kind, name, mode, permits, options, limit = null, variant = null, asksOnce } = spec;
    const { leaseMs, label, revocable, waitMs } = options;
    const mayWait = waitMs > 0 && asksOnce !== true;
    // A mutex or a write, renewed until its release, of a view that keeps. What is granted together with others is
    // never kept.
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
