import type { PrimitiveKind } from "../api/capabilities.js";
import type { Grant } from "../api/driver.js";
import type { LockEventMap } from "../api/events.js";
import type { LockMode, LossReason, Millis, Owner } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import type { EventDetail } from "../events/event-hub.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import type { GrantEngine } from "./engine.js";
import type { HoldIdentity, OpenHandle } from "./hold-record.js";

export const noHandles: readonly OpenHandle[] = [];

/** Times from here on mean "for ever": no alarm is set for them. */
const foreverMs = Number.MAX_SAFE_INTEGER;

export type HoldStatus =
  | "held"
  | "staying" // all handles are released, and the lock stays taken until `stayUntilMs`
  | "releasing"
  | "released"
  | "lost";

/**
 * The time of one hold: up to when its grant may be relied on, whether that is in doubt, and the renewals that extend it.
 *
 * A lease is renewed after a third of its time. After a failure it is tried again after a further tenth. There is one request at
 * a time. A request that hangs delays nothing: the alarm ends the hold at its deadline, and an answer after that is too late.
 */
export abstract class Lease extends Alarm implements HoldIdentity {
  readonly engine: GrantEngine;
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly mode: LockMode;
  readonly owner: Owner;
  readonly grant: Grant;
  /** The label as given, or as announced since. */
  label: string | null;
  readonly grantedAtMs: Millis;
  readonly leaseMs: Millis;
  /** Handles not released yet, oldest first. */
  open: readonly OpenHandle[] = noHandles;
  /** Whether the caller has the hold. Before that, a hold in doubt is proven, and one that is gone is given back. */
  delivered = false;
  /** Whether the driver has reported `uncertain()` and no confirmation came after it. */
  doubted = false;
  lossReason: LossReason | undefined;
  protected status: HoldStatus = "held";
  /** See `AcquireOptions.holdAtLeastMs`. */
  protected stayUntilMs: Millis = 0;

  readonly #renews: boolean;
  readonly #finalUntilMs: Millis;
  /** When the next renewal is due. */
  #renewAtMs: Millis = Infinity;
  #renewing = false;
  /** The latest deadline that a renewal in time has given. It tells an answer in time from a late one. */
  #provenUntilMs: Millis = 0;
  /**
   * How many clock jumps there were when the last counted renewal was sent. After a further jump the hold is in doubt until a
   * renewal sent after it is answered.
   */
  #jumpEpoch: number;
  /** How often the driver has reported doubt. */
  #breaks = 0;
  #watchers: Set<() => void> | undefined;

  /** `sentEpoch`: the count of clock jumps when the request was sent, because the lease counts from then. */
  constructor(
    engine: GrantEngine,
    identity: HoldIdentity,
    options: ResolvedAcquireOptions,
    grant: Grant,
    sentEpoch: number,
  ) {
    super();
    this.engine = engine;
    this.kind = identity.kind;
    this.name = identity.name;
    this.mode = identity.mode;
    this.owner = identity.owner;
    this.grant = grant;
    this.label = options.label;
    this.grantedAtMs = engine.runtime.nowMs();
    this.leaseMs = options.leaseMs;
    const leased = engine.driver.capabilities.lease === "ttl";
    this.#renews = leased && options.renew;
    this.#finalUntilMs =
      leased && !options.renew ? (grant.leaseUntilMs?.() ?? grant.validUntilMs()) : Infinity;
    this.#jumpEpoch = sentEpoch;
  }

  /** Emits the event. Its detail is not built while the type has no listener. */
  protected tell<K extends keyof LockEventMap>(
    type: K,
    detail: () => Omit<EventDetail<K>, keyof HoldIdentity>,
  ): void {
    const { kind, name, mode, owner, engine } = this;
    if (!engine.events.has(type)) return;
    engine.events.emit(type, { kind, name, mode, owner, ...detail() } as unknown as EventDetail<K>);
  }

  abstract lose(reason: LossReason): void;

  /** Gives back in the background what the backend may still keep of the hold. */
  protected abstract dropGrant(): Promise<boolean>;

  /** The last handle was released, so no caller can enter the hold again. */
  get givenBack(): boolean {
    return this.status === "staying" || this.status === "releasing" || this.status === "released";
  }

  deadlineMs(): Millis {
    return Math.min(this.grant.validUntilMs(), this.#finalUntilMs);
  }

  remainingMs(): Millis {
    return this.check() ? this.#leftMs() : 0;
  }

  check(): boolean {
    if (this.status === "lost" || this.status === "released") return false;
    if (this.engine.runtime.nowMs() < this.deadlineMs()) return true;
    this.lose("lease-expired");
    return false;
  }

  #leftMs(): Millis {
    if (this.#distrusted()) return 0;
    const untilMs = Math.min(this.deadlineMs(), this.grant.sureUntilMs?.() ?? Infinity);
    return Math.max(0, untilMs - this.engine.runtime.nowMs());
  }

  // -------- doubt

  /** Whether the hold is in doubt, because of a report of the driver or a jump of the clock. */
  get inDoubt(): boolean {
    return this.doubted || this.#distrusted();
  }

  #distrusted(): boolean {
    if (!this.#leased) return false;
    if (this.engine.clockJump.read() === this.#jumpEpoch) return false;
    if (this.delivered) this.#renewNow();
    return true;
  }

  uncertain(): void {
    this.#breaks++;
    if (this.doubted) return;
    this.doubted = true;
    // If our deadline has passed, `check()` reports the loss, and no event follows that.
    if (!this.check() || this.status !== "held" || !this.delivered) return;
    this.tell("uncertain", () => ({ remainingMs: this.#leftMs() }));
  }

  recovered(): void {
    if (!this.doubted) return;
    this.doubted = false;
    // If contact comes back after our deadline, the hold is lost and stays lost.
    if (!this.check() || this.status !== "held") return;
    this.notifyWatchers();
    if (this.delivered) this.tell("recovered", () => ({}));
  }

  /**
   * Calls `callback` once, at the next change that matters to code that waits for certainty: recovered, lost, or being released.
   */
  watch(callback: () => void): () => void {
    this.#watchers ??= new Set();
    this.#watchers.add(callback);
    return () => this.#watchers?.delete(callback);
  }

  protected notifyWatchers(): void {
    const watchers = this.#watchers;
    this.#watchers = undefined;
    if (watchers !== undefined) for (const each of watchers) each();
  }

  // -------- proofs and renewals

  /**
   * Asks the backend whether the grant still stands, after contact was in doubt before the delivery. Resolves to `false` when
   * the grant is gone; rejects when no answer came. If contact breaks again before the answer is processed here, the hold
   * stays `uncertain`, because the answer is older than the new doubt.
   */
  async prove(): Promise<boolean> {
    const { link, clockJump } = this.engine;
    const epoch = clockJump.read();
    const breaks = this.#breaks;
    const untilMs = await this.grant.prove(this.#renewableMs);
    if (untilMs === null) return false;
    const unbroken = breaks === this.#breaks && link.state === "connected";
    if (unbroken) this.doubted = false;
    this.#proven(untilMs, epoch);
    return true;
  }

  /**
   * Makes one renewal, with its events. Resolves to `false` when the hold is over, by the answer or before it.
   * `due`: as in `Grant.prove`.
   */
  async renew(due = false): Promise<boolean> {
    const { runtime, clockJump } = this.engine;
    const leased = this.#leased;
    const sentMs = runtime.nowMs();
    const epoch = clockJump.read();
    const sentUntilMs = this.deadlineMs();
    let validUntilMs: Millis | null;
    try {
      validUntilMs = await this.grant.prove(this.#renewableMs, { due });
    } catch (error) {
      // If the hold was released meanwhile, nothing has failed.
      const missed = leased && this.lossReason === undefined && !this.givenBack;
      const marginMs = Math.max(0, this.deadlineMs() - runtime.nowMs());
      if (missed) this.tell("renew-failed", () => ({ error, marginMs }));
      throw error;
    }
    const nowMs = runtime.nowMs();
    // The driver has moved the deadline by now, so the deadline before it decides whether the answer was in time. Where the
    // session is the lease, other requests prove the session meanwhile, and the session itself judges late answers.
    const beforeMs = leased ? Math.max(sentUntilMs, this.#provenUntilMs) : this.deadlineMs();
    if (nowMs >= beforeMs) this.lose("lease-expired");
    if (this.lossReason !== undefined) {
      // The answer came after the end of the hold, so what the renewal has kept alive is given back.
      if (leased && validUntilMs !== null) void this.dropGrant();
      return false;
    }
    if (validUntilMs === null) {
      // Of a hold that is being released the answer to the release says whether it was still there.
      if (this.status !== "releasing") this.lose(this.missingReason);
      return false;
    }
    this.#proven(validUntilMs, epoch);
    const marginMs = Math.max(0, beforeMs - nowMs);
    if (leased && !this.givenBack) this.tell("renewed", () => ({ tookMs: nowMs - sentMs, marginMs }));
    return true;
  }

  /** The reason for a loss, when the backend answers to a release or renewal that the hold was not ours any more. */
  protected get missingReason(): LossReason {
    return this.#leased ? "lease-missing" : "stolen";
  }

  get #leased(): boolean {
    return this.engine.driver.capabilities.lease === "ttl";
  }

  /** A renewal was answered in time. `epoch`: the count of clock jumps when it was sent. */
  #proven(untilMs: Millis, epoch: number): void {
    this.#provenUntilMs = Math.max(this.#provenUntilMs, untilMs);
    if (epoch <= this.#jumpEpoch) return;
    this.#jumpEpoch = epoch;
    this.notifyWatchers();
  }

  /**
   * The lease that a renewal or `confirm()` may ask for. With `renew: false` it is never more than what is left. For a hold that
   * stays it is the rest of its time and a little more, because a hold is relied on for up to 1 % and 2 ms less than its lease.
   */
  get #renewableMs(): Millis {
    const nowMs = this.engine.runtime.nowMs();
    if (this.status === "staying") {
      const restMs = this.stayUntilMs - nowMs;
      return Math.max(1, Math.ceil(restMs + restMs / 50 + 10));
    }
    return Math.min(this.leaseMs, Math.max(1, Math.floor(this.#finalUntilMs - nowMs)));
  }

  // -------- the alarm: the end of the hold, or the next renewal before it

  /** `lent`: the lease began before the hold, and little more than a third of it may be left. */
  protected startAlarm(lent: boolean): void {
    const firstInMs = lent ? this.#restMs() : this.leaseMs / 3;
    if (this.#renews) this.#renewAtMs = this.engine.runtime.nowMs() + firstInMs;
    this.#arm();
  }

  /** The holder has released, and the lock has to stay taken. Renewals go on only until the lease lasts that long. */
  protected stayAlarm(): void {
    this.#arm();
    if (this.#renews) this.#renewNow();
  }

  /** The alarm rang, and the hold is not over: sends the renewal if it is due. */
  protected ringLease(): void {
    const due = this.engine.runtime.nowMs() >= this.#renewAtMs;
    if (due) this.#renewAtMs = Infinity;
    // A driver may settle a renewal that is `due` without a request, while the lease is fresh. That is not enough after a sleep
    // of the machine, when only an answer of the server counts, nor for a hold that stays, whose lease has to become longer.
    const inTurn = this.status === "held" && this.engine.clockJump.read() === this.#jumpEpoch;
    if (due && this.#renewable) this.#renewInTurn(inTurn);
    this.#arm();
  }

  #arm(): void {
    const deadlineMs = this.deadlineMs();
    // To read the deadline may emit `uncertain`, and a listener may have released the hold. Its alarm is then in another clock.
    if (this.status !== "held" && this.status !== "staying") return;
    const atMs = Math.min(this.status === "staying" ? this.stayUntilMs : deadlineMs, this.#renewAtMs);
    if (atMs < foreverMs) this.engine.alarms.set(this, atMs);
  }

  /** Renews out of turn, because the present lease is in doubt, or too short for a hold that stays. */
  #renewNow(): void {
    if (this.#renewable) this.#renewInTurn(false);
  }

  get #renewable(): boolean {
    if (this.#renewing) return false;
    // Nothing has to be renewed once the lease lasts as long as the lock has to stay taken.
    return this.status === "staying" ? this.deadlineMs() < this.stayUntilMs : this.status === "held";
  }

  #renewInTurn(due: boolean): void {
    this.#renewing = true;
    const { status } = this;
    this.renew(due).then(
      (renewed) => this.#renewed(status, renewed ? this.#restMs() : Infinity),
      () => this.#renewed(status, this.leaseMs / 10),
    );
  }

  /** `sentAs`: the status of the hold when the renewal was sent. */
  #renewed(sentAs: HoldStatus, nextInMs: Millis): void {
    this.#renewing = false;
    if (!this.#renews || !this.#renewable || nextInMs === Infinity) return;
    // The holder has released meanwhile, and this renewal asked for one lease only. The process may be about to end.
    if (sentAs !== this.status) return this.#renewInTurn(false);
    this.#renewAtMs = this.engine.runtime.nowMs() + nextInMs;
    this.#arm();
  }

  /**
   * The time to the next renewal: a third of the lease, or less if the lease was confirmed some time ago. That happens when a
   * backend renews several holds with the one that is due, and when a kept lock is lent with what is left of its lease.
   */
  #restMs(): Millis {
    const { leaseMs } = this;
    const confirmedAgoMs = leaseMs - (this.grant.validUntilMs() - this.engine.runtime.nowMs());
    return confirmedAgoMs < leaseMs / 10 ? leaseMs / 3 : Math.max(leaseMs / 10, leaseMs / 3 - confirmedAgoMs);
  }
}
