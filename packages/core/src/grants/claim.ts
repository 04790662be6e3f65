import type { Attempt, AttemptListener, Grant, GrantState, LockDriver } from "../api/driver.js";
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
  unreachable,
} from "./acquire-errors.js";
import { AcquireReport, type Outcome, type SettledDetail } from "./acquire-report.js";
import { type AcquireSpec, type AcquireSpecs, requestsOf } from "./acquire-spec.js";
import type { GrantEngine, Waiting } from "./engine.js";
import { Handle } from "./handle.js";
import { Hold } from "./hold.js";
import type { LongWait } from "./long-waits.js";

type Phase =
  | "connecting" // waits for the link
  | "guarded" // waits for what an earlier request of ours on this name has left behind
  | "doubting" // a read beside a write: waits until the write is certain again
  | "queued" // an attempt is under way, or is being withdrawn
  | "moving" // its session ended: waits for the next one
  | "proving" // granted, but contact broke before the caller could have it
  | "resting" // between two attempts
  | "settled"; // what is left of the attempt is taken back behind the call

/**
 * What may have come to the process already is heard before a call ends without an answer: the link's own error, which says what
 * servers it tried, or an answer that lies unread in the socket because the event loop was late.
 */
const unheardMs: Millis = 50;

/** Resolves to `null`, instead of rejecting with `AcquireTimeoutError`, when `spec.throws` is false. */
export async function claim(engine: GrantEngine, spec: AcquireSpec): Promise<Handle | null> {
  const settled = await new Claim(engine, [spec]).start();
  const handles = settled instanceof Queued ? await settled.from(callSite()) : settled;
  return handles === null ? null : (handles[0] as Handle);
}

/** As `claim`, for several locks of one `jointGroup`: all or none. Rejects with `UnsupportedError` where the driver has no such groups. */
export async function claimAll(engine: GrantEngine, specs: AcquireSpecs): Promise<readonly Handle[] | null> {
  if (specs.length > 1 && engine.driver.jointGroup === undefined) {
    const { backend } = engine;
    throw new UnsupportedError(`the backend ${backend} cannot grant several locks together`, { backend });
  }
  const settled = await new Claim(engine, specs).start();
  return settled instanceof Queued ? await settled.from(callSite()) : settled;
}

/**
 * Made in an async function, since the stack there names those that await it, and only when a wait has begun: a lock that is free pays
 * nothing for it.
 */
function callSite(): Error {
  return new Error("waits since this call");
}

/**
 * As `claim`, for a read beside a write that is held, without a gap between them: the write's place in the queue is the read's once
 * the write is released. Touches nothing of the write, and is never built on a write in doubt. Rejects with the write's `LockLostError`
 * when that is lost before the delivery. `null`: its own holder has given the write back.
 */
export async function claimBeside(write: Hold, spec: AcquireSpec): Promise<Handle | null> {
  const { engine, name } = write;
  if (engine.driver.attemptBeside === undefined) {
    throw new UnsupportedError(`the backend ${engine.backend} has no read beside a write`, {
      lockName: name,
      backend: engine.backend,
    });
  }
  return await claim(engine, { ...spec, beside: write });
}

/**
 * The way from one acquire to a grant or a refusal, of one lock or of several together. The driver makes attempts; the claim asks again
 * when one ends without an answer to the caller. Time-out, abort, loss of contact, closing and the grant race here: the first to reach
 * `#decide` or `#deliver` wins, and the others find the phase changed.
 *
 * The limit of a call bounds the call and not its attempts: the promise settles at its time whatever the server does. What is
 * left of the attempt is taken back behind the call, and the next acquire of that name by this provider waits for it.
 */
class Claim extends Alarm implements AttemptListener, Waiting {
  readonly #engine: GrantEngine;
  readonly #specs: AcquireSpecs;
  /** Speaks for all where they have to be alike. */
  readonly #spec: AcquireSpec;
  #resolve: (settled: Settled) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #phase: Phase = "connecting";
  #attempt: Attempt | undefined;
  /** The attempt has not ended, and is not withdrawn: only now does it count what it reports. */
  #open = false;
  /** Granted, and not delivered yet. */
  #holds: readonly Hold[] | undefined;
  #startedMs: Millis = 0;
  #deadlineMs: Millis = Infinity;
  #retries = 0;
  /** Of the attempts on sessions that have ended. */
  #roundTrips = 0;
  /** What ended the last attempt that was to be made again. */
  #lastFailure: unknown;
  #sentEpoch = 0;
  #rest: Rest | undefined;
  /** A server has answered that the request has to wait: what ends the wait is contention, and no outage. */
  #answered = false;
  /** The limit has passed. */
  #late = false;
  #wait: Queued | undefined;
  /** Why the request waits, where no hold of another client is in the way. */
  #blockedBy: Error | undefined;
  #unwatchWrite: () => void = () => {};
  readonly #reports: readonly AcquireReport[];

  constructor(engine: GrantEngine, specs: AcquireSpecs) {
    super();
    this.#engine = engine;
    this.#specs = specs;
    this.#spec = specs[0];
    this.#reports = specs.map((spec) => new AcquireReport(engine, spec));
  }

  /** `null`: not granted in time. `Queued`, once, when a wait without a limit begins. */
  start(): Promise<Settled> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#start();
    });
  }

  #start(): void {
    const engine = this.#engine;
    const { beside, startedMs, name, options } = this.#spec;
    const { signal, waitMs } = options;
    // A read beside a write takes nothing new: holders may use the grace of a close for it.
    if (beside === undefined ? engine.closing : engine.closed) {
      this.#reject(engine.closedError(name));
      return;
    }
    if (signal?.aborted === true) {
      this.#reject(signal.reason);
      return;
    }
    this.#startedMs = startedMs ?? engine.runtime.nowMs();
    this.#deadlineMs = this.#startedMs + (waitMs === 0 ? engine.options.connectTimeoutMs : waitMs);
    engine.waiting.add(this);
    // The signal is listened to before the event is emitted, because a listener of the event may abort it. The call is over then.
    if (signal !== undefined) engine.signals.add(signal, this.#aborted);
    for (const report of this.#reports) report.started();
    if (this.#phase !== "settled") this.#proceed();
    for (const report of this.#reports) report.sent();
    // Behind the answers that are there already: a grant without I/O needs no timer.
    if (this.#deadlineMs !== Infinity) queueMicrotask(this.#armDeadline);
  }

  // -------- what the attempt reports

  waiting(blockedBy?: Error): void {
    if (!this.#open) return;
    this.#blockedBy = blockedBy;
    if (!this.#answered && this.#deadlineMs === Infinity) this.#waitsLong();
    this.#answered = true;
    // Not at once: a driver that is in the middle of its step must not be cancelled from inside it.
    if (this.#late) this.#engine.waitAlarms.set(this, this.#deadlineMs);
  }

  #waitsLong(): void {
    const { longWaits, runtime } = this.#engine;
    const began = this.#resolve;
    const { kind, name } = this.#spec;
    const blockedBy = (): Error | undefined => this.#blockedBy;
    const end = new Promise<readonly Handle[] | null>((resolve, reject) => {
      this.#resolve = resolve as (settled: Settled) => void;
      this.#reject = reject;
    });
    // The caller of `Queued.from` handles the rejection. Until that call Node.js would report it as unhandled.
    end.catch(() => {});
    this.#wait = new Queued({ kind, name, queuedMs: runtime.nowMs(), blockedBy }, end);
    longWaits.add(this.#wait);
    began(this.#wait);
  }

  notified(): void {
    if (this.#open) for (const report of this.#reports) report.notified();
  }

  requeued(reason: "entry-gone"): void {
    if (this.#open) for (const report of this.#reports) report.requeued(reason);
  }

  sequenceHigh(sequence: number): void {
    if (this.#open) for (const report of this.#reports) report.sequenceHigh(sequence);
  }

  granted(grants: readonly [Grant, ...Grant[]]): readonly [GrantState, ...GrantState[]] {
    const holds = grants.map((grant, i) => {
      const spec = this.#specs[i] as AcquireSpec;
      return new Hold(this.#engine, spec, spec.options, grant, this.#sentEpoch);
    });
    if (this.#open) {
      this.#open = false;
      this.#holds = holds;
      queueMicrotask(this.#considerGrant);
    }
    return holds as [Hold, ...Hold[]];
  }

  unavailable(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#attempt = undefined;
    this.#decide("unavailable");
  }

  failed(error: unknown): void {
    if (!this.#open) return;
    this.#open = false;
    const { beside } = this.#spec;
    if (beside !== undefined && !beside.givenBack && error instanceof LockLostError) {
      // The backend says so before anything has reported it to the write, whose end then decides.
      beside.lose(error.reason);
    } else this.#again(error);
  }

  sessionEnded({ queued, roundTrips }: { readonly queued: boolean; readonly roundTrips: number }): void {
    if (!this.#open) return;
    this.#open = false;
    this.#attempt = undefined;
    this.#roundTrips += roundTrips;
    this.#move(queued);
  }

  // -------- what else may end it

  providerClosed(error: ProviderClosedError): void {
    this.#decide("error", error);
  }

  closing(error: ProviderClosedError): void {
    if (this.#spec.beside === undefined) this.#decide("error", error);
  }

  outage(error: unknown): void {
    if (this.#spec.beside !== undefined) return;
    const phase = this.#phase;
    if (phase === "guarded" || phase === "queued" || phase === "moving" || phase === "proving")
      this.#decide("error", error);
  }

  readonly #aborted = (): void => {
    this.#decide("aborted", this.#spec.options.signal?.reason);
  };

  ring(): void {
    const { runtime, waitAlarms } = this.#engine;
    const nowMs = runtime.nowMs();
    if (nowMs < this.#deadlineMs) {
      waitAlarms.set(this, this.#deadlineMs);
    } else if (this.#answered || this.#phase === "doubting") {
      this.#decide("timeout");
    } else if (!this.#late) {
      this.#late = true;
      waitAlarms.set(this, nowMs + unheardMs);
    } else {
      this.#decide("error", noAnswer(this.#asked, this.#unanswered(nowMs)));
    }
  }

  #unanswered(nowMs: Millis): Unanswered {
    const { connectTimeoutMs } = this.#engine.options;
    const passedMs = nowMs - this.#startedMs;
    return { passedMs, connectTimeoutMs, guarded: this.#phase === "guarded", cause: this.#lastFailure };
  }

  // -------- the way to a grant

  #proceed(): void {
    const { beside } = this.#spec;
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
    if (this.#spec.beside !== undefined) return undefined;
    const pending = this.#specs.map(({ name }) => this.#engine.pendingRelease(name)).filter(isPending);
    return pending.length === 0 ? undefined : Promise.all(pending);
  }

  /** Nothing is built on a write in doubt. */
  #writeCertain(write: Hold): boolean {
    if (!this.#writeHeld(write)) return false;
    if (write.state === "held") return true;
    if (this.#spec.options.waitMs === 0) this.#decide("timeout");
    else this.#phase = "doubting";
    return false;
  }

  /** Nothing is left to ask for beside a write that is over. */
  #writeHeld(write: Hold): boolean {
    const { state } = write;
    this.#unwatchWrite();
    if (state === "lost") this.#decide("error", write.lossError());
    else if (state === "released") this.#decide("unavailable");
    else {
      this.#unwatchWrite = write.watch(() => {
        if (this.#phase === "doubting") this.#proceed();
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
    contact.then(
      () => this.#phase === "connecting" && this.#proceed(),
      (error) => this.#phase === "connecting" && this.#decide("error", this.#withoutContact(error)),
    );
  }

  /** The link knows how long it tried which servers, and not for what call. */
  #withoutContact(error: unknown): unknown {
    if (!(error instanceof BackendError) || !error.retryable) return error;
    return unreachable(this.#asked, this.#unanswered(this.#engine.runtime.nowMs()), error);
  }

  #ask(): void {
    const { driver, clockJump } = this.#engine;
    this.#phase = "queued";
    this.#open = true;
    if (driver.capabilities.lease === "ttl") this.#sentEpoch = clockJump.read();
    let attempt: Attempt;
    try {
      attempt = this.#newAttempt();
    } catch (error) {
      this.#open = false;
      this.#failed(error);
      return;
    }
    if (this.#open || this.#holds !== undefined) this.#attempt = attempt;
    // Code of the caller's that the driver ran, such as the choice of an ACL, may have aborted the call.
    else void this.#withdraw(attempt);
  }

  #newAttempt(): Attempt {
    const { driver } = this.#engine;
    const { beside, options } = this.#spec;
    if (beside === undefined) return driver.attempt(requestsOf(this.#specs), this);
    const { leaseMs, label, revocable } = options;
    return (driver as Required<LockDriver>).attemptBeside(beside.grant, { leaseMs, label, revocable }, this);
  }

  /** The place went with the session, or there was none yet: the next session asks again, at the tail. */
  #move(queued: boolean): void {
    this.#holds = undefined;
    this.#phase = "moving";
    if (queued) for (const report of this.#reports) report.requeued("session-lost");
    const { link } = this.#engine;
    const contact = link.state === "connected" ? Promise.resolve() : this.#engine.contactRegained();
    contact.then(
      () => this.#phase === "moving" && this.#ask(),
      (error) => this.#phase === "moving" && this.#decide("error", this.#typed(error)),
    );
  }

  /** A microtask after the grant: what had arrived with it was heard. */
  readonly #considerGrant = (): void => {
    const holds = this.#holds;
    // Decided otherwise before: the withdrawal then covers this grant too.
    if (this.#phase !== "queued" || holds === undefined) return;
    if (this.#engine.link.state !== "connected" || holds.some((hold) => hold.inDoubt))
      this.#regainContact(holds);
    else if (allStand(holds)) this.#deliver(holds);
    else this.#lost(holds, "the lease was over before the grant could be delivered");
  };

  /** Contact broke between the grant and its delivery: it counts once a round trip has shown that it still stands. */
  #regainContact(holds: readonly Hold[]): void {
    const { link } = this.#engine;
    this.#phase = "proving";
    const contact = link.state === "connected" ? Promise.resolve() : this.#engine.contactRegained();
    contact.then(
      () => this.#phase === "proving" && this.#prove(holds),
      (error) => this.#phase === "proving" && this.#decide("error", this.#typed(error)),
    );
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
        else if (holds.some((hold) => hold.inDoubt)) this.#regainContact(holds);
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
    this.#phase = "queued";
    this.#attempt = undefined;
    this.#holds = undefined;
    this.#lastFailure = error;
    this.#withdraw(attempt).then(() => this.#phase === "queued" && this.#failed(error));
  }

  /** Transport errors are tried again by the policy, as long as the caller waits; everything else is final. */
  #failed(cause: unknown): void {
    const { runtime, options, waitAlarms } = this.#engine;
    const error = this.#typed(cause);
    const transport = error instanceof BackendError || error instanceof QuorumError;
    if (!transport || !error.retryable || this.#spec.options.waitMs === 0) {
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
    this.#rest = new Rest(() => this.#phase === "resting" && this.#proceed());
    waitAlarms.set(this.#rest, nowMs + delayMs);
  }

  // -------- the end

  #deliver(holds: readonly Hold[]): void {
    // In the same turn in which the write was seen to stand: from here on the read is in the books.
    const { beside } = this.#spec;
    if (beside !== undefined && !this.#writeHeld(beside)) return;
    const handles = holds.map((hold, i) => {
      const { options, handleFrom, onHold } = this.#specs[i] as AcquireSpec;
      hold.deliver();
      const handle = handleFrom?.(hold, options) ?? new Handle(hold, options);
      onHold?.(hold);
      return handle;
    });
    this.#unhook();
    this.#finish("granted", (i) => {
      const { roundTrips, contended, token } = (holds[i] as Hold).grant;
      return { roundTrips: this.#roundTrips + roundTrips, contended, token };
    });
    this.#resolve(handles);
  }

  #decide(outcome: Outcome, error?: unknown): void {
    if (this.#phase === "settled") return;
    this.#open = false;
    const contended = outcome === "unavailable" || outcome === "timeout" || this.#answered;
    const attempt = this.#attempt;
    this.#unhook();
    const detail = { roundTrips: 0, contended, token: null };
    this.#finish(outcome, () => (outcome === "error" ? { ...detail, error } : detail));
    if (attempt !== undefined) void this.#withdraw(attempt);
    if (outcome === "error" || outcome === "aborted") this.#reject(error);
    else if (this.#spec.throws && !(outcome === "unavailable" && this.#spec.beside !== undefined))
      this.#reject(this.#timedOut());
    else this.#resolve(null);
  }

  #timedOut(): AcquireTimeoutError {
    const waitedMs = this.#engine.runtime.nowMs() - this.#startedMs;
    return timedOut(this.#asked, waitedMs, this.#blockedBy ?? this.#lastFailure);
  }

  /** Never rejects; a failure is an event `release-failed`, since something may be left. */
  #withdraw(attempt: Attempt): Promise<void> {
    const withdrawn = new Promise<void>((resolve) => resolve(attempt.withdraw())).catch((error) => {
      for (const report of this.#reports) report.cleanUpFailed(error);
    });
    this.#engine.trackCleaning(withdrawn);
    for (const { name } of this.#specs) this.#engine.rememberPendingRelease(name, withdrawn);
    return withdrawn;
  }

  #unhook(): void {
    const { waitAlarms, signals } = this.#engine;
    waitAlarms.clear(this);
    if (this.#rest !== undefined) waitAlarms.clear(this.#rest);
    const { signal } = this.#spec.options;
    if (signal !== undefined) signals.remove(signal, this.#aborted);
    this.#unwatchWrite();
  }

  /** As an error of ours. The abort reasons of callers never come through here. */
  #typed(error: unknown): unknown {
    return this.#engine.typed(error, this.#spec.name);
  }

  #finish(outcome: Outcome, detailOf: (index: number) => SettledDetail): void {
    this.#phase = "settled";
    this.#engine.waiting.delete(this);
    if (this.#wait !== undefined) this.#engine.longWaits.remove(this.#wait);
    const waitedMs = this.#engine.runtime.nowMs() - this.#startedMs;
    for (const [i, report] of this.#reports.entries()) report.settled(outcome, waitedMs, detailOf(i));
  }

  /** For errors. */
  get #asked(): Asked {
    return { specs: this.#specs, backend: this.#engine.backend };
  }

  readonly #armDeadline = (): void => {
    if (this.#phase === "settled") return;
    this.#engine.waitAlarms.set(this, this.#deadlineMs);
  };
}

function isPending(pending: Promise<void> | undefined): pending is Promise<void> {
  return pending !== undefined;
}

type Settled = readonly Handle[] | null | Queued;

/** A wait without a limit that has begun. */
export class Queued implements LongWait {
  readonly kind: LongWait["kind"];
  readonly name: string;
  readonly queuedMs: Millis;
  callSite: Error | undefined;
  readonly #blockedBy: () => Error | undefined;
  readonly #end: Promise<readonly Handle[] | null>;

  constructor(
    {
      kind,
      name,
      queuedMs,
      blockedBy,
    }: Pick<LongWait, "kind" | "name" | "queuedMs"> & { blockedBy(): Error | undefined },
    end: Promise<readonly Handle[] | null>,
  ) {
    this.kind = kind;
    this.name = name;
    this.queuedMs = queuedMs;
    this.#blockedBy = blockedBy;
    this.#end = end;
  }

  get blockedBy(): Error | undefined {
    return this.#blockedBy();
  }

  /** How it ends. `callSite`: whose stack names the callers. */
  from(callSite: Error): Promise<readonly Handle[] | null> {
    this.callSite = callSite;
    return this.#end;
  }
}

/** Looks at each of them: whatever is over has to know it. */
function allStand(holds: readonly Hold[]): boolean {
  return holds.map((hold) => hold.check()).every(Boolean);
}

function sessionOver({ lossReason }: Hold): boolean {
  return lossReason === "session-expired";
}

class Rest extends Alarm {
  readonly ring: () => void;
  constructor(ring: () => void) {
    super();
    this.ring = ring;
  }
}
