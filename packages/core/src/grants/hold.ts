import type { PrimitiveKind } from "../api/capabilities.js";
import type { Grant, GrantState } from "../api/driver.js";
import { BackendError, LockLostError } from "../api/errors.js";
import type {
  FencingToken,
  HoldState,
  LockMode,
  LossReason,
  Millis,
  Owner,
  ReleaseOutcome,
} from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import type { GrantEngine } from "./engine.js";
import type { Held, HoldIdentity, OpenHandle } from "./held.js";
import { Release } from "./release.js";
import { Renewal } from "./renewal.js";

/** Times beyond this are "for ever": no alarm is set for them. */
const foreverMs = Number.MAX_SAFE_INTEGER;

/**
 * One grant of the backend and all handles on it: several when it was re-entered. The driver reports here what happens to the grant;
 * the hold knows whether it may still be relied on, and says so once when not.
 */
export class Hold extends Alarm implements Held, GrantState {
  readonly engine: GrantEngine;
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly mode: LockMode;
  readonly owner: Owner;
  readonly grant: Grant;
  /** As given, or announced since. */
  label: string | null;
  readonly grantedAtMs: Millis;
  readonly leaseMs: Millis;

  /** Handles not released yet, oldest first. */
  readonly open: OpenHandle[] = [];
  revokeAsked = false;
  /** The release found that the hold had gone before, which nobody had told us. */
  foundGone = false;
  /** The latest deadline that a renewal in time has given; tells an answer in time from a late one. */
  provenUntilMs: Millis = 0;
  /** Called once when nobody can enter this hold any more: lost, or its last handle released. */
  onEnd: (() => void) | undefined;

  /** `"kept"`: all handles are released, and the lock stays taken until `#keepUntilMs`. */
  #status: "held" | "kept" | "releasing" | "released" | "lost" = "held";
  #doubted = false;
  #keepUntilMs: Millis = 0;
  #delivered = false;
  #lossReason: LossReason | undefined;
  #lossError: LockLostError | undefined;
  #release: Release | undefined;
  readonly #renewal: Renewal | undefined;
  /** Until a renewal counts from after the last jump of the clock, only the backend knows whether we hold. */
  #jumpEpoch: number;
  readonly #finalUntilMs: Millis;
  /** How often the driver has reported doubt. */
  #breaks = 0;
  #watchers: Set<() => void> | undefined;

  /** `sentEpoch`: the count of clock jumps when the request was sent, since that is what its lease counts from. */
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
    this.leaseMs = options.leaseMs;
    this.grantedAtMs = engine.runtime.nowMs();
    const leased = engine.driver.capabilities.lease === "ttl";
    this.#finalUntilMs =
      leased && !options.renew ? (grant.leaseUntilMs?.() ?? grant.validUntilMs()) : Infinity;
    this.#renewal = leased ? new Renewal(engine, this, { periodic: options.renew }) : undefined;
    this.#jumpEpoch = sentEpoch;
  }

  get token(): FencingToken | null {
    return this.grant.token;
  }

  /** As `LockHandle.state`, of the hold as a whole. Reads the clock. */
  get state(): HoldState {
    this.check();
    if (this.#status === "releasing" || this.#status === "kept") return "released";
    return this.#status === "held" && this.inDoubt ? "uncertain" : this.#status;
  }

  /**
   * What a renewal or `confirm()` may ask for: with `renew: false` never more than is left. Of a hold that is kept, the
   * rest of its time and a little more, because a hold is relied on for up to 1 % and 2 ms less than its lease.
   */
  get renewableMs(): Millis {
    if (this.#status === "kept") {
      const restMs = this.#keepUntilMs - this.engine.runtime.nowMs();
      return Math.max(1, Math.ceil(restMs + restMs / 50 + 10));
    }
    return Math.min(this.leaseMs, Math.max(1, Math.floor(this.#finalUntilMs - this.engine.runtime.nowMs())));
  }

  deadlineMs(): Millis {
    return Math.min(this.grant.validUntilMs(), this.#finalUntilMs);
  }

  remainingMs(): Millis {
    return this.check() ? this.#leftMs() : 0;
  }

  /** Whether the hold is not over by the clock. When its time has passed it is lost here and now, however late the timers are. */
  check(): boolean {
    if (this.#status === "lost" || this.#status === "released") return false;
    if (this.engine.runtime.nowMs() < this.deadlineMs()) return true;
    this.lose("lease-expired");
    return false;
  }

  /**
   * Contact was in doubt before the delivery: a round trip shows whether the grant still stands. `false` when it is gone;
   * rejects when no answer came. A hold stays `uncertain` when contact breaks again before the answer is heard here: that
   * answer is older than the new doubt.
   */
  async prove(): Promise<boolean> {
    const { link, clockJump } = this.engine;
    const epoch = clockJump.read();
    const breaks = this.#breaks;
    const untilMs = await this.grant.prove(this.renewableMs);
    if (untilMs === null) return false;
    const unbroken = breaks === this.#breaks && link.state === "connected";
    if (unbroken) this.#doubted = false;
    this.proven(untilMs, epoch);
    return true;
  }

  /** The grant reaches its caller: from now on the books, the events and the alarms know it. */
  deliver(): void {
    this.#delivered = true;
    this.engine.holds.add(this);
    this.#arm();
    this.#renewal?.start();
  }

  /** From now on, see `AcquireOptions.holdAtLeastMs`. */
  holdAtLeast(forMs: Millis): void {
    if (forMs === 0) return;
    this.#keepUntilMs = Math.max(this.#keepUntilMs, this.engine.runtime.nowMs() + forMs);
  }

  /** Another hold on the same lock stays for as long as this one had to. */
  handKeepingOn(to: Hold): void {
    to.#keepUntilMs = Math.max(to.#keepUntilMs, this.#keepUntilMs);
    this.#keepUntilMs = 0;
  }

  /** Nothing has to be renewed any more: the lease lasts as long as the lock has to stay taken. */
  get outlastsKeeping(): boolean {
    return this.#status === "kept" && this.deadlineMs() >= this.#keepUntilMs;
  }

  /** `null` for the last handle, which then has to call `release`. */
  closeHandle(handle: OpenHandle): "still-held" | null {
    const index = this.open.indexOf(handle);
    if (index !== -1) this.open.splice(index, 1);
    return this.open.length > 0 ? "still-held" : null;
  }

  release(signal: AbortSignal | undefined): Promise<ReleaseOutcome> {
    if (this.engine.runtime.nowMs() < this.#keepUntilMs) return Promise.resolve(this.#keep());
    this.#status = "releasing";
    this.#renewal?.stop();
    this.engine.releasing.add(this);
    this.engine.noteEnd(this);
    this.#ended();
    this.#notifyWatchers();
    this.#release = new Release(this.engine, this, () => {
      this.#status = "released";
      this.engine.releasing.delete(this);
      this.engine.noteEnd(this);
      this.engine.alarms.clear(this);
    });
    return this.#release.start(signal);
  }

  /** The holder is done before `holdAtLeastMs` has passed. To its owner and to the events this is the release. */
  #keep(): "still-held" {
    const { engine } = this;
    this.#status = "kept";
    engine.kept.add(this);
    engine.noteEnd(this);
    this.#ended();
    this.#notifyWatchers();
    engine.alarms.set(this, this.#keepUntilMs);
    this.#renewal?.keep();
    const { events } = engine;
    if (events.has("released"))
      events.emit("released", { ...this.eventBase(), outcome: "still-held", heldMs: this.heldMs() });
    return "still-held";
  }

  /** The time is over, the hold is lost, or the provider closes: whatever is left at the backend goes. */
  endKeeping(): Promise<boolean> {
    this.#status = "released";
    this.#renewal?.stop();
    this.engine.kept.delete(this);
    this.engine.alarms.clear(this);
    const dropped = this.#dropGrant();
    this.engine.trackCleaning(dropped);
    return dropped;
  }

  addReleaseSignal(signal: AbortSignal): void {
    this.#release?.addSignal(signal);
  }

  abandonRelease(): void {
    this.#release?.ring();
  }

  /** For `close()`: resolves to `true` when the backend confirmed. */
  releaseDone(): Promise<boolean> {
    return this.#release?.done ?? Promise.resolve(true);
  }

  /** The provider closes: holders are told, then the entry goes. */
  closeDown(): Promise<boolean> {
    if (this.#status === "lost") return Promise.resolve(false);
    this.lose("provider-closed");
    return this.#dropGrant();
  }

  /** The backend said that it was not ours any more, in answer to a release or renewal. */
  get missingReason(): LossReason {
    return this.engine.driver.capabilities.lease === "ttl" ? "lease-missing" : "stolen";
  }

  /** A release found nothing: the hold had been lost before, unnoticed. */
  noteLossBeforeRelease(): void {
    this.foundGone = true;
    this.#lossReason = this.missingReason;
  }

  lose(reason: LossReason): void {
    if (this.#status === "lost" || this.#status === "released") return;
    if (this.#status === "releasing") {
      this.#release?.lost();
      return;
    }
    if (this.#status === "kept") {
      this.endKeeping();
      return;
    }
    this.#status = "lost";
    this.#lossReason = reason;
    this.#renewal?.stop();
    this.engine.alarms.clear(this);
    this.engine.noteEnd(this);
    if (this.#delivered) {
      for (const handle of [...this.open]) handle.holdLost(this.lossError());
      this.#ended();
      const { events } = this.engine;
      if (events.has("lost")) events.emit("lost", { ...this.eventBase(), reason, heldMs: this.heldMs() });
      this.#notifyWatchers();
    }
    if (this.#delivered && this.#mayBeThere(reason)) this.engine.trackCleaning(this.#dropGrant());
  }

  /** Something of a lost hold is left at the backend perhaps, and nobody needs it. */
  #mayBeThere(reason: LossReason): boolean {
    // By our own clock or resolve only.
    if (reason === "lease-expired" || reason === "quorum-lost" || reason === "suspended") return true;
    // One permit of a batch is gone: the batch is lost, and the others would never be given back.
    return this.grant.permitIds.length > 1 && (reason === "stolen" || reason === "lease-missing");
  }

  get lossReason(): LossReason | undefined {
    return this.#lossReason;
  }

  lossError(value?: { readonly value: unknown }): LockLostError {
    const reason = this.#lossReason ?? "lease-expired";
    const make = (): LockLostError =>
      new LockLostError(`the lock "${this.name}" was lost: ${reason}`, {
        reason,
        token: this.token,
        lockName: this.name,
        backend: this.engine.backend,
        ...value,
      });
    if (value !== undefined) return make();
    this.#lossError ??= make();
    return this.#lossError;
  }

  /** Runs at each change that a waiter for certainty cares about: recovered, lost, or being released. */
  watch(callback: () => void): () => void {
    this.#watchers ??= new Set();
    this.#watchers.add(callback);
    return () => this.#watchers?.delete(callback);
  }

  /** A renewal was answered in time. It counts from `epoch` of the clock's jumps. */
  proven(untilMs: Millis, epoch: number): void {
    this.provenUntilMs = Math.max(this.provenUntilMs, untilMs);
    if (epoch <= this.#jumpEpoch) return;
    this.#jumpEpoch = epoch;
    this.#notifyWatchers();
  }

  /** A renewal came back after the end: whatever it kept alive is not wanted. */
  renewedTooLate(): void {
    this.engine.trackCleaning(this.#dropGrant());
  }

  /** The last handle was released: nobody can enter it again. */
  get givenBack(): boolean {
    return this.#status === "kept" || this.#status === "releasing" || this.#status === "released";
  }

  /** Reported by the driver, or by a jump of the clock. */
  get inDoubt(): boolean {
    return this.#doubted || this.#distrusted();
  }

  // -------- what the driver reports

  get delivered(): boolean {
    return this.#delivered;
  }

  get doubted(): boolean {
    return this.#doubted;
  }

  uncertain(): void {
    this.#breaks++;
    if (this.#doubted) return;
    this.#doubted = true;
    // Doubt that comes after our deadline finds the hold lost, and nothing is said after that.
    if (!this.check() || this.#status !== "held" || !this.#delivered) return;
    const { events } = this.engine;
    if (events.has("uncertain"))
      events.emit("uncertain", { ...this.eventBase(), remainingMs: this.#leftMs() });
  }

  recovered(): void {
    if (!this.#doubted) return;
    this.#doubted = false;
    // Contact that came back after our deadline finds the hold lost, and so it stays.
    if (!this.check() || this.#status !== "held") return;
    this.#notifyWatchers();
    const { events } = this.engine;
    if (this.#delivered && events.has("recovered")) events.emit("recovered", this.eventBase());
  }

  revokeRequested(): void {
    if (this.revokeAsked || this.#status === "lost" || this.givenBack) return;
    this.revokeAsked = true;
    for (const handle of [...this.open]) handle.revokeAsked();
    const { events } = this.engine;
    if (events.has("revoke-requested")) events.emit("revoke-requested", this.eventBase());
  }

  lost(reason: LossReason): void {
    // Before the delivery it does not matter how the session ended.
    const ofSession = reason === "lease-expired" && this.engine.driver.capabilities.lease === "session";
    this.lose(!this.#delivered && ofSession ? "session-expired" : reason);
  }

  heldMs(): Millis {
    return this.engine.runtime.nowMs() - this.grantedAtMs;
  }

  eventBase(): HoldIdentity {
    return { kind: this.kind, name: this.name, mode: this.mode, owner: this.owner };
  }

  releaseFailed(reason: "unconfirmed" | "refused", error: unknown): void {
    const { events } = this.engine;
    if (events.has("release-failed")) events.emit("release-failed", { ...this.eventBase(), reason, error });
  }

  ring(): void {
    if (this.#status === "kept") this.endKeeping();
    else if (this.check()) this.#arm();
  }

  #arm(): void {
    const untilMs = this.deadlineMs();
    if (untilMs < foreverMs) this.engine.alarms.set(this, untilMs);
  }

  #leftMs(): Millis {
    if (this.#distrusted()) return 0;
    const untilMs = Math.min(this.deadlineMs(), this.grant.sureUntilMs?.() ?? Infinity);
    return Math.max(0, untilMs - this.engine.runtime.nowMs());
  }

  #distrusted(): boolean {
    if (this.engine.driver.capabilities.lease !== "ttl") return false;
    if (this.engine.clockJump.read() === this.#jumpEpoch) return false;
    if (this.#delivered) this.#renewal?.now();
    return true;
  }

  #ended(): void {
    const ended = this.onEnd;
    this.onEnd = undefined;
    ended?.();
  }

  #notifyWatchers(): void {
    const watchers = this.#watchers;
    this.#watchers = undefined;
    if (watchers !== undefined) for (const each of watchers) each();
  }

  #dropGrant(): Promise<boolean> {
    const done = new Promise<boolean>((resolve) => resolve(this.grant.release()));
    done.catch((error) => {
      this.releaseFailed(error instanceof BackendError && error.retryable ? "unconfirmed" : "refused", error);
    });
    this.engine.rememberPendingRelease(this.name, done);
    return done;
  }
}
