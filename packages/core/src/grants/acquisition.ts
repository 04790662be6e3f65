import type { Grant, Ticket, TicketProgress } from "../api/driver.js";
import {
  type AcquireTimeoutError,
  BackendError,
  type ProviderClosedError,
  QuorumError,
} from "../api/errors.js";
import type { Millis } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import {
  type Asked,
  evictedAtGrant,
  goneBeforeDelivery,
  noAnswer,
  notTogether,
  timedOut,
  type Unanswered,
  unreachable,
} from "./acquire-errors.js";
import { AcquireReport, type Outcome, type SettledDetail } from "./acquire-report.js";
import { type AcquireSpec, type AcquireSpecs, requestOf } from "./acquire-spec.js";
import type { GrantEngine, Waiting } from "./engine.js";
import { Handle } from "./handle.js";
import { Hold } from "./hold.js";
import type { LongWait } from "./long-waits.js";

type Phase =
  | "connecting" // waits for the link
  | "guarded" // waits for what an earlier request of ours on this name has left behind
  | "queued" // the driver has the request
  | "proving" // granted, but contact broke before the caller could be told
  | "resting" // between two tries
  | "settled"; // what is left of the request is cleaned up behind the call

/**
 * What may have come to the process already is heard before a call ends without an answer: the link's own error, which says what
 * servers it tried, or an answer that lies unread in the socket because the event loop was late.
 */
const unheardMs: Millis = 50;

/**
 * One acquire under way, of one lock or of several together. Time-out, abort, loss of contact, closing and the grant
 * race here: the first to reach `#decide` or `#deliver` wins, and the others find the phase changed.
 *
 * The limit of a call bounds the call and not its requests: the promise settles at its time whatever the server does. What is
 * left of the request is taken back behind the call, and the next acquire of that name by this provider waits for it.
 */
export class Acquisition extends Alarm implements TicketProgress, Waiting {
  readonly #engine: GrantEngine;
  readonly #specs: AcquireSpecs;
  /** Speaks for all where they have to be alike. */
  readonly #spec: AcquireSpec;
  #resolve: (settled: Settled) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #phase: Phase = "connecting";
  #ticket: Ticket<unknown> | undefined;
  #startedMs: Millis = 0;
  #deadlineMs: Millis = Infinity;
  #attempt = 0;
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
    const { signal, waitMs } = this.#spec.options;
    if (engine.closing) {
      this.#reject(engine.closedError(this.#spec.name));
      return;
    }
    if (signal?.aborted === true) {
      this.#reject(signal.reason);
      return;
    }
    this.#startedMs = this.#spec.startedMs ?? engine.runtime.nowMs();
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

  // -------- what others tell

  waiting(blockedBy?: Error): void {
    if (this.#phase !== "queued") return;
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
    if (this.#phase === "queued") for (const report of this.#reports) report.notified();
  }

  requeued(reason: "session-lost" | "entry-gone"): void {
    if (this.#phase === "queued") for (const report of this.#reports) report.requeued(reason);
  }

  sequenceHigh(sequence: number): void {
    for (const report of this.#reports) report.sequenceHigh(sequence);
  }

  providerClosed(error: ProviderClosedError): void {
    this.#decide("error", error);
  }

  closing(error: ProviderClosedError): void {
    this.#decide("error", error);
  }

  outage(error: unknown): void {
    if (this.#phase === "guarded" || this.#phase === "queued" || this.#phase === "proving")
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
    } else if (this.#answered) {
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
    const pending = this.#specs.map(({ name }) => this.#engine.pendingRelease(name)).filter(isPending);
    return pending.length === 0 ? undefined : Promise.all(pending);
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
    if (driver.capabilities.lease === "ttl") this.#sentEpoch = clockJump.read();
    try {
      if (this.#specs.length === 1) {
        this.#await(driver.request(requestOf(this.#spec), this), (grant) => [grant]);
      } else {
        if (driver.requestAll === undefined) throw notTogether(this.#asked);
        this.#await(driver.requestAll(this.#specs.map(requestOf), this), (grants) => grants);
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  #await<G>(ticket: Ticket<G>, grantsOf: (granted: G) => readonly Grant[]): void {
    this.#ticket = ticket;
    ticket.granted.then(
      (granted) => this.#granted(ticket, granted === null ? null : grantsOf(granted)),
      (error) => {
        if (ticket === this.#ticket && this.#phase === "queued") this.#again(ticket, error);
      },
    );
  }

  #granted(ticket: Ticket<unknown>, grants: readonly Grant[] | null): void {
    // Decided otherwise before: the cancel that was sent then covers this grant too.
    if (ticket !== this.#ticket || this.#phase !== "queued") return;
    if (grants === null) {
      this.#ticket = undefined;
      this.#decide("unavailable");
      return;
    }
    const holds = grants.map((grant, i) => {
      const spec = this.#specs[i] as AcquireSpec;
      return new Hold(this.#engine, spec, spec.options, grant, this.#sentEpoch);
    });
    if (this.#engine.link.state === "connected" && !holds.some((hold) => hold.uncertain)) {
      if (allStand(holds)) this.#deliver(holds);
      else if (stolen(holds) !== undefined) this.#evicted(ticket, stolen(holds) as Hold);
      else this.#gone(ticket, "the lease was over before the grant could be delivered");
      return;
    }
    this.#regainContact(ticket, holds);
  }

  /** Contact broke between the grant and its delivery: it counts once a round trip has shown that it still stands. */
  #regainContact(ticket: Ticket<unknown>, holds: readonly Hold[]): void {
    const { link } = this.#engine;
    this.#phase = "proving";
    const contact = link.state === "connected" ? Promise.resolve() : this.#engine.contactRegained();
    contact.then(
      () => this.#phase === "proving" && this.#prove(ticket, holds),
      (error) => {
        if (this.#phase === "proving") this.#decide("error", this.#engine.typed(error, this.#spec.name));
      },
    );
  }

  #prove(ticket: Ticket<unknown>, holds: readonly Hold[]): void {
    Promise.all(holds.map((hold) => hold.prove())).then(
      (stand) => {
        if (this.#phase !== "proving") return;
        const taken = stolen(holds);
        if (taken !== undefined) this.#evicted(ticket, taken);
        else if (stand.includes(false) || !allStand(holds))
          this.#gone(ticket, "the grant was gone when contact came back");
        else if (holds.some((hold) => hold.uncertain)) this.#regainContact(ticket, holds);
        else this.#deliver(holds);
      },
      (error) => {
        if (this.#phase === "proving") this.#again(ticket, error);
      },
    );
  }

  /** Somebody deleted the entry in the moment of its grant: to the caller, who never held, that is an eviction. */
  #evicted(ticket: Ticket<unknown>, { name }: Hold): void {
    this.#ticket = ticket;
    this.#decide("error", evictedAtGrant(this.#asked, name));
  }

  #gone(ticket: Ticket<unknown>, why: string): void {
    this.#again(ticket, goneBeforeDelivery(this.#asked, why));
  }

  /** Whatever the failed try may have left behind would stand in the way of the next one. */
  #again(ticket: Ticket<unknown>, error: unknown): void {
    this.#phase = "queued";
    this.#ticket = undefined;
    this.#lastFailure = error;
    this.#clean(ticket).then(() => this.#phase === "queued" && this.#failed(error));
  }

  /** Transport errors are tried again by the policy, as long as the caller waits; everything else is final. */
  #failed(cause: unknown): void {
    const { runtime, options, waitAlarms } = this.#engine;
    const error = this.#engine.typed(cause, this.#spec.name);
    const transport = error instanceof BackendError || error instanceof QuorumError;
    if (!transport || !error.retryable || this.#spec.options.waitMs === 0) {
      this.#decide("error", error);
      return;
    }
    const nowMs = runtime.nowMs();
    const delayMs = options.retry.next(++this.#attempt, nowMs - this.#startedMs, error);
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
      return { roundTrips, contended, token };
    });
    this.#resolve(handles);
  }

  #decide(outcome: Outcome, error?: unknown): void {
    if (this.#phase === "settled") return;
    const contended = outcome === "unavailable" || outcome === "timeout" || this.#answered;
    const ticket = this.#ticket;
    this.#unhook();
    const detail = { roundTrips: 0, contended, token: null };
    this.#finish(outcome, () => (outcome === "error" ? { ...detail, error } : detail));
    if (ticket !== undefined) this.#clean(ticket);
    if (outcome === "error" || outcome === "aborted") this.#reject(error);
    else if (this.#spec.throws) this.#reject(this.#timedOut());
    else this.#resolve(null);
  }

  #timedOut(): AcquireTimeoutError {
    const waitedMs = this.#engine.runtime.nowMs() - this.#startedMs;
    return timedOut(this.#asked, waitedMs, this.#blockedBy ?? this.#lastFailure);
  }

  /** Takes the request back. Never rejects; a failure is told by `release-failed`, since something may be left. */
  #clean(ticket: Ticket<unknown>): Promise<void> {
    const cleaned = new Promise<void>((resolve) => resolve(ticket.cancel())).catch((error) => {
      for (const report of this.#reports) report.cleanUpFailed(error);
    });
    this.#engine.trackCleaning(cleaned);
    for (const { name } of this.#specs) this.#engine.rememberPendingRelease(name, cleaned);
    return cleaned;
  }

  #unhook(): void {
    const { waitAlarms, signals } = this.#engine;
    waitAlarms.clear(this);
    if (this.#rest !== undefined) waitAlarms.clear(this.#rest);
    const { signal } = this.#spec.options;
    if (signal !== undefined) signals.remove(signal, this.#aborted);
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

function stolen(holds: readonly Hold[]): Hold | undefined {
  return holds.find((hold) => hold.lossReason === "stolen");
}

class Rest extends Alarm {
  readonly ring: () => void;
  constructor(ring: () => void) {
    super();
    this.ring = ring;
  }
}
