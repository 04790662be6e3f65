import type { Grant, GrantState } from "../api/driver.js";
import { BackendError, LockLostError } from "../api/errors.js";
import type { FencingToken, HoldState, LossReason, Millis, ReleaseOutcome } from "../api/values.js";
import type { HoldRecord, OpenHandle } from "./hold-record.js";
import { Tenant } from "./keeping.js";
import { Lease, noHandles } from "./lease.js";

/**
 * A release under way. It has one request and one outcome, however many callers wait for it. The request goes on after the
 * wait for it has ended.
 */
interface PendingRelease {
  readonly resolve: (outcome: ReleaseOutcome) => void;
  readonly reject: (error: unknown) => void;
  /** At this time the wait ends with the outcome `unconfirmed`, if the backend has not answered. */
  readonly untilMs: Millis;
  /** The answer of the backend: `true` when it has confirmed the release. */
  confirmed: Promise<boolean>;
  aborts: { readonly signal: AbortSignal; readonly aborted: () => void }[] | undefined;
}

/**
 * One grant of the backend and all handles on it; there are several when it was re-entered. The driver reports here what
 * happens to the grant. The hold knows whether the grant may still be relied on, and reports once when it may not.
 */
export class Hold extends Lease implements GrantState, HoldRecord {
  revokeAsked = false;
  /** Set when the release found the hold gone and the driver had not reported a loss before. */
  foundGone = false;
  /** Called once when no caller can enter this hold any more: it is lost, or its last handle was released. */
  onEnd: (() => void) | undefined;
  /** See `LockHandle.turn`. */
  turn: number = this.grant instanceof Tenant ? this.grant.turn : 0;
  /** Whether the provider had kept the lock and lent it to this hold, so that no request was sent. */
  lent: boolean = this.grant instanceof Tenant && this.grant.lent;

  #lossError: LockLostError | undefined;
  #release: PendingRelease | undefined;

  get token(): FencingToken | null {
    return this.grant.token;
  }

  /**
   * Returns the token for the holder. Code for events and errors reads `token`, which does not count as shown to an owner.
   * `undefined`: see `Tenant.showToken()`.
   */
  showToken(): FencingToken | null | undefined {
    return this.grant instanceof Tenant ? this.grant.showToken() : this.token;
  }

  /** The driver's grant, for a request that is built on it. A write that has a read beside it is not kept. */
  grantToBuildOn(): Grant {
    return this.grant instanceof Tenant ? this.grant.exposed() : this.grant;
  }

  /** The `LockHandle.state` of the hold as a whole. Reads the clock. */
  get state(): HoldState {
    this.check();
    if (this.givenBack) return "released";
    return this.status === "held" && this.inDoubt ? "uncertain" : (this.status as "held" | "lost");
  }

  /** The grant reaches its caller: from now on the books, the events and the alarms know it. */
  deliver(): void {
    this.delivered = true;
    this.engine.holds.add(this);
    this.startAlarm(this.lent);
  }

  /** Whether the hold is lost. It may be so before each of its handles has been notified. Does not read the clock. */
  get isLost(): boolean {
    return this.status === "lost";
  }

  enter(handle: OpenHandle): void {
    this.open = this.open.length === 0 ? [handle] : [...this.open, handle];
  }

  /** `null` for the last handle, which then has to call `release`. */
  leave(handle: OpenHandle): "still-held" | null {
    this.open = this.open.length === 1 ? noHandles : this.open.filter((each) => each !== handle);
    return this.open.length > 0 ? "still-held" : null;
  }

  // -------- staying for a time, see `AcquireOptions.holdAtLeastMs`

  /** The lock stays taken for at least `forMs` from now on. */
  holdAtLeast(forMs: Millis): void {
    if (forMs === 0) return;
    this.stayUntilMs = Math.max(this.stayUntilMs, this.engine.runtime.nowMs() + forMs);
  }

  /** Passes the time on to another hold on the same lock, which then stays for as long as this one had to. */
  handStayOn(to: Hold): void {
    to.stayUntilMs = Math.max(to.stayUntilMs, this.stayUntilMs);
    this.stayUntilMs = 0;
  }

  /** The holder has released before the time has passed. For the owner and for events this is the release. */
  #stay(): "still-held" {
    this.engine.staying.add(this);
    this.#leave("staying");
    this.stayAlarm();
    this.#tellReleased("still-held");
    return "still-held";
  }

  /** The time is over, the hold is lost, or the provider closes: gives back what is left at the backend. */
  #endStay(): Promise<boolean> {
    this.status = "released";
    this.engine.staying.delete(this);
    this.engine.alarms.clear(this);
    return this.dropGrant();
  }

  // -------- release

  /** The last handle is released. */
  release(signal: AbortSignal | undefined, keep = true): Promise<ReleaseOutcome> {
    const { engine } = this;
    const nowMs = engine.runtime.nowMs();
    if (nowMs < this.stayUntilMs) return Promise.resolve(this.#stay());
    if (this.grant instanceof Tenant && this.grant.giveBack(keep && !this.inDoubt)) {
      // The provider keeps the lock for its next owner, which may have it already.
      this.#leave("released");
      this.#tellReleased("kept");
      return Promise.resolve("kept");
    }
    this.#leave("releasing");
    return new Promise((resolve, reject) => {
      const untilMs = nowMs + engine.options.releaseTimeoutMs;
      const release: PendingRelease = { resolve, reject, untilMs, confirmed: unasked, aborts: undefined };
      this.#release = release;
      release.confirmed = this.#giveBack();
      release.confirmed.then(
        (confirmed) => this.#answered(confirmed),
        (error) => this.#failed(error),
      );
      this.#armRelease(release);
      if (signal !== undefined) this.addReleaseSignal(signal);
    });
  }

  /** The last handle was released. */
  #leave(status: "staying" | "released" | "releasing"): void {
    this.status = status;
    this.engine.alarms.clear(this);
    if (status !== "releasing") this.engine.noteEnd(this);
    this.#ended();
    this.notifyWatchers();
  }

  addReleaseSignal(signal: AbortSignal): void {
    const release = this.#release;
    if (this.status !== "releasing" || release === undefined) return;
    if (signal.aborted) {
      this.#unconfirmed(signal.reason);
      return;
    }
    const aborted = (): void => this.#unconfirmed(signal.reason);
    release.aborts ??= [];
    release.aborts.push({ signal, aborted });
    this.engine.signals.add(signal, aborted);
  }

  abandonRelease(): void {
    const { name: lockName, engine } = this;
    const { backend, options } = engine;
    const message = `no answer to the release of "${lockName}" within ${options.releaseTimeoutMs} ms (releaseTimeoutMs)`;
    this.#unconfirmed(new BackendError(message, { lockName, backend }));
  }

  #armRelease({ untilMs }: PendingRelease): void {
    const atMs = Math.min(untilMs, this.deadlineMs());
    if (this.status === "releasing") this.engine.waitAlarms.set(this, atMs);
  }

  #answered(confirmed: boolean): void {
    if (this.status !== "releasing") return;
    if (confirmed) {
      this.#settle("released");
      return;
    }
    this.foundGone = true;
    this.lossReason = this.missingReason;
    this.#settle("lost", this.lossReason);
  }

  #failed(cause: unknown): void {
    const error = this.engine.typed(cause, this.name);
    if (error instanceof BackendError && error.retryable) {
      this.#unconfirmed(error);
      return;
    }
    const release = this.#endRelease("unconfirmed");
    this.#tellReleaseFailed("refused", error);
    release?.reject(error);
  }

  #unconfirmed(error: unknown): void {
    if (this.status !== "releasing") return;
    const { confirmed } = this.#release as PendingRelease;
    this.engine.rememberPendingRelease(this.name, confirmed);
    this.#tellReleaseFailed("unconfirmed", error);
    this.#settle("unconfirmed");
  }

  #settle(outcome: ReleaseOutcome, reason?: LossReason): void {
    this.#endRelease(outcome, reason)?.resolve(outcome);
  }

  /** Ends the release. Returns `undefined` when it had ended before. */
  #endRelease(outcome: ReleaseOutcome, reason?: LossReason): PendingRelease | undefined {
    if (this.status !== "releasing") return undefined;
    const { engine } = this;
    const release = this.#release;
    this.status = "released";
    engine.waitAlarms.clear(this);
    for (const { signal, aborted } of release?.aborts ?? []) engine.signals.remove(signal, aborted);
    engine.noteEnd(this);
    this.#tellReleased(outcome, reason);
    return release;
  }

  // -------- loss

  lose(reason: LossReason): void {
    const { status, engine } = this;
    if (status === "releasing") this.#settle("lost", reason);
    else if (status === "staying") void this.#endStay();
    if (status !== "held") return;
    this.status = "lost";
    this.lossReason = reason;
    engine.alarms.clear(this);
    engine.noteEnd(this);
    if (!this.delivered) return;
    const giveBack = this.#mayBeThere(reason) ? this.#giveBackSoon() : undefined;
    // The hold leaves the books of its owner first: a listener may ask for the lock again in the name of that owner.
    this.#ended();
    for (const handle of this.open) handle.holdLost(this.lossError());
    this.tell("lost", () => ({ reason, heldMs: this.heldMs() }));
    this.notifyWatchers();
    giveBack?.();
  }

  /**
   * The holder is notified before the grant is given back. A listener may ask for the lock again at once; that request waits for
   * what the returned function sends.
   */
  #giveBackSoon(): () => void {
    let giveBack = (): void => {};
    const given = new Promise<unknown>((resolve) => {
      giveBack = () => resolve(this.dropGrant());
    });
    this.engine.rememberPendingRelease(this.name, given);
    return giveBack;
  }

  /** Whether the backend may still keep something of the lost hold, which then has to be released. */
  #mayBeThere(reason: LossReason): boolean {
    // This process decided that the hold is over, so the backend may still keep it.
    if (reason === "lease-expired" || reason === "quorum-lost" || reason === "suspended") return true;
    // One permit of a batch is gone, so the batch is lost. Without a release the other permits would never be given back.
    return this.grant.permitIds.length > 1 && (reason === "stolen" || reason === "lease-missing");
  }

  lossError(value?: { readonly value: unknown }): LockLostError {
    const { name: lockName, token, engine, lossReason: reason = "lease-expired" } = this;
    const message = `the lock "${lockName}" was lost: ${reason}`;
    const details = { reason, token, lockName, backend: engine.backend, ...value };
    if (value !== undefined) return new LockLostError(message, details);
    this.#lossError ??= new LockLostError(message, details);
    return this.#lossError;
  }

  /** The provider closes: the holder is notified of the loss before its entry is deleted. */
  closeDown(): Promise<boolean> {
    if (this.#release !== undefined) return this.#release.confirmed;
    if (this.status === "staying") return this.#endStay();
    if (this.status !== "held") return Promise.resolve(false);
    this.lose("provider-closed");
    return this.dropGrant();
  }

  // -------- what else the driver reports

  revokeRequested(): void {
    if (this.revokeAsked || this.status !== "held") return;
    this.revokeAsked = true;
    for (const handle of this.open) handle.revokeAsked();
    this.tell("revoke-requested", () => ({}));
  }

  lost(reason: LossReason): void {
    // Before the delivery it does not matter how the session ended.
    const ofSession = reason === "lease-expired" && this.engine.driver.capabilities.lease === "session";
    this.lose(!this.delivered && ofSession ? "session-expired" : reason);
  }

  ring(): void {
    const nowMs = this.engine.runtime.nowMs();
    if (this.status === "staying" && nowMs >= this.stayUntilMs) void this.#endStay();
    // The check may emit `uncertain`, and a listener may release the hold.
    else if (!this.check()) return;
    else if (this.#release === undefined) this.ringLease();
    else if (nowMs >= this.#release.untilMs) this.abandonRelease();
    else this.#armRelease(this.#release);
  }

  #ended(): void {
    const ended = this.onEnd;
    this.onEnd = undefined;
    ended?.();
  }

  heldMs(): Millis {
    return this.engine.runtime.nowMs() - this.grantedAtMs;
  }

  #tellReleased(outcome: ReleaseOutcome, reason?: LossReason): void {
    const { lent: kept, turn } = this;
    this.tell("released", () => ({
      ...{ outcome, heldMs: this.heldMs(), kept, turn },
      ...(reason !== undefined && { reason }),
    }));
  }

  #tellReleaseFailed(reason: "unconfirmed" | "refused", error: unknown): void {
    this.tell("release-failed", () => ({ reason, error }));
  }

  /** Releases the grant. A driver that throws is treated like one that rejects. */
  #giveBack(): Promise<boolean> {
    try {
      return this.grant.release();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Gives the grant back in the background. The next acquire of this name waits for it, and so does `close()`, as
   * long as it has time.
   */
  protected override dropGrant(): Promise<boolean> {
    const done = this.#giveBack();
    this.engine.cleanUp([this], done);
    return done;
  }
}

/** The value of `confirmed` before the request is sent. */
const unasked: Promise<boolean> = Promise.resolve(false);
