import type { LockDriver } from "../api/driver.js";
import { BackendError, HoldfastError, ProviderClosedError, UnsupportedError } from "../api/errors.js";
import type { BackendLink } from "../api/link.js";
import type { CloseReport } from "../api/provider.js";
import type { Runtime } from "../api/runtime.js";
import type { Millis, Owner } from "../api/values.js";
import { AlarmClock } from "../clock/alarm-clock.js";
import { ClockJump } from "../clock/clock-jump.js";
import { pause } from "../clock/pause.js";
import { inSlices, SlicedWork } from "../clock/slices.js";
import type { EventHub } from "../events/event-hub.js";
import { messageOf } from "../options/checks.js";
import type { ResolvedProviderOptions } from "../options/provider-options.js";
import { settledWithin } from "../signals/settled-within.js";
import { SignalHub } from "../signals/signal-hub.js";
import { debugLogOf, type WaitLog } from "./debug-log.js";
import type { HoldRecord, Left } from "./hold-record.js";
import { Keepings } from "./keepings.js";
import { LongWaits } from "./long-waits.js";

export type EngineParts = Pick<GrantEngine, "driver" | "link" | "events" | "options">;

/** Something that waits on behalf of a caller and must end when the provider closes. */
export interface Waiting {
  providerClosed(error: ProviderClosedError): void;
  /** `close()` was called, and the holders have time to finish. A wait for something new ends now. */
  closing?(error: ProviderClosedError): void;
  /** The link has been down for longer than a place in the queue is kept. */
  outage?(error: unknown): void;
}

/** How long after a refusal the link is asked again, for callers that have a place in a queue. */
const askAgainMs: Millis = 200;

/** What all locks of one provider share: clocks, signals, and the books of its holds and waits. */
export class GrantEngine {
  readonly id: string;
  readonly driver: LockDriver;
  readonly link: BackendLink;
  readonly events: EventHub;
  readonly options: ResolvedProviderOptions;
  readonly runtime: Runtime;

  /** The alarms for ends of holds and for renewals. They never keep the process alive. */
  readonly alarms: AlarmClock;
  /**
   * The alarms for the limits of what a caller awaits. They keep the process alive, or it would exit in the middle of an await.
   */
  readonly waitAlarms: AlarmClock;
  readonly signals: SignalHub = new SignalHub();
  readonly clockJump: ClockJump;

  /** Holds that are held, or whose release is still awaited. */
  readonly holds: Set<HoldRecord> = new Set();
  /** Holds that their holders have released, and that stay taken until `holdAtLeastMs` has passed. */
  readonly staying: Set<HoldRecord> = new Set();
  readonly waiting: Set<Waiting> = new Set();
  readonly longWaits: LongWaits = new LongWaits(this);
  /** Writes each wait to the debug log; `null` unless the process was started with `NODE_DEBUG=holdfast`. */
  readonly sayWaits: WaitLog | null;
  /** `null` where the provider keeps no locks for their next owners: that must cost nothing. */
  readonly keepings: Keepings | null;

  /** `close()` was called and its grace is over: every new call is refused. */
  closed = false;
  #ownerCount = 0;
  /** The result of `close()`, from its first call on. */
  #closing: Promise<CloseReport> | undefined;
  /** Resolves when the grace is over in which the holders may finish. `undefined`: there is no grace. */
  #grace: Promise<void> | undefined;
  #endGrace: () => void = () => {};
  readonly #stopping = new AbortController();
  #contact: Promise<void> | undefined;
  #regained: Promise<void> | undefined;
  readonly #goingOn: SlicedWork;
  readonly #pendingReleases = new Map<string, { readonly name: string; readonly done: Promise<void> }>();
  readonly #linkListener: Disposable;

  constructor(parts: EngineParts) {
    this.id = parts.events.source.provider;
    this.driver = parts.driver;
    this.link = parts.link;
    this.events = parts.events;
    this.options = parts.options;
    this.runtime = parts.options.runtime;
    this.#goingOn = new SlicedWork(this.runtime);
    this.alarms = new AlarmClock(this.runtime, { ref: false });
    this.waitAlarms = new AlarmClock(this.runtime, { ref: true });
    this.clockJump = new ClockJump(this.runtime);
    this.keepings = this.options.keepMs > 0 && this.driver.keeps === true ? new Keepings(this) : null;
    this.sayWaits = debugLogOf(this);
    this.#linkListener = this.events.on("session-state", ({ state }) => {
      if (state === "connected") {
        // If contact breaks again at once, that is an outage of its own, with the full time limit.
        this.#regained = undefined;
        this.keepings?.connected();
      } else this.#linkDown();
    });
  }

  /** `close()` was called: nothing new is granted, while holders may have time to finish. */
  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /** Aborts with `ProviderClosedError` when `close()` is called, to end what goes on by itself, such as a `lead()`. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** The hold has no open handle any more, and no caller waits for its release. */
  noteEnd(hold: HoldRecord): void {
    this.holds.delete(hold);
    if (this.holds.size === 0) this.#endGrace();
  }

  freshOwner(label: string | null): Owner {
    const id = `${this.id}:${++this.#ownerCount}`;
    return label === null ? { id } : { id, label };
  }

  /**
   * One wait for the connection, shared by all callers that need it. Its limit is `connectTimeoutMs`, counted from the first
   * caller: the limit is on the outage, not on each caller.
   */
  contact(): Promise<void> {
    this.#contact ??= this.link.whenConnected({ waitMs: this.options.connectTimeoutMs }).finally(() => {
      this.#contact = undefined;
    });
    return this.#contact;
  }

  /**
   * Like `contact()`, for callers that have a place in a queue: a refusal meanwhile does not end their wait. Rejects once
   * `connectTimeoutMs` has passed since contact broke, but not while a session that keeps the places may still live.
   */
  contactRegained(): Promise<void> {
    if (this.#regained === undefined) {
      const regained = this.#sitOut().finally(() => {
        if (this.#regained === regained) this.#regained = undefined;
      });
      this.#regained = regained;
    }
    return this.#regained;
  }

  async #sitOut(): Promise<void> {
    const { runtime, link, driver } = this;
    const endMs = runtime.nowMs() + this.options.connectTimeoutMs;
    for (;;) {
      try {
        return await link.whenConnected({ waitMs: Math.max(askAgainMs, endMs - runtime.nowMs()) });
      } catch (error) {
        const placesKept = driver.capabilities.lease === "session" && link.state === "suspended";
        const final = error instanceof HoldfastError && !error.retryable;
        if (this.closed || final || (runtime.nowMs() >= endMs && !placesKept)) throw error;
        await pause(runtime, askAgainMs, { ref: true }).over;
      }
    }
  }

  /**
   * Calls `regained` or `failed` after `contact` has settled. Ten thousand callers may go on at the same time, so they go on
   * in slices, behind the present step. So contact may be broken again when `regained` runs.
   */
  afterContact(contact: Promise<void>, regained: () => void, failed: (error: unknown) => void): void {
    contact.then(
      () => this.#goingOn.add(regained),
      (error) => this.#goingOn.add(() => failed(error)),
    );
  }

  /**
   * Resolves when our own earlier requests under `key` are confirmed; `undefined` when none is open. A new request that did not
   * wait for them would queue behind what they end.
   */
  pendingRelease(key: string): Promise<void> | undefined {
    return this.#pendingReleases.get(key)?.done;
  }

  /** `key`: the name of a lock, or a key that no lock has. `name`: what `close()` reports while the requests are not confirmed. */
  rememberPendingRelease(key: string, requests: Promise<unknown>, name: string = key): void {
    const done = Promise.allSettled([this.pendingRelease(key), requests]).then(() => {
      if (this.pendingRelease(key) === done) this.#pendingReleases.delete(key);
    });
    this.#pendingReleases.set(key, { name, done });
  }

  closedError(name?: string): ProviderClosedError {
    return new ProviderClosedError("the provider is closed", { lockName: name, backend: this.backend });
  }

  get backend(): LockDriver["capabilities"]["backend"] {
    return this.driver.capabilities.backend;
  }

  /**
   * The error of a driver as one of ours. A `HoldfastError` is passed on; anything else becomes the cause of a `BackendError`.
   */
  typed(cause: unknown, lockName: string): unknown {
    if (cause instanceof HoldfastError) return cause;
    const { backend } = this;
    return new BackendError(`${backend}: ${messageOf(cause)}`, {
      cause,
      lockName,
      backend,
      retryable: false,
    });
  }

  unsupported(message: string, lockName: string): UnsupportedError {
    return new UnsupportedError(message, { lockName, backend: this.backend });
  }

  /** A second call can only shorten the grace of the first. */
  close(releaseTimeoutMs: Millis, graceMs: Millis): Promise<CloseReport> {
    if (this.#closing === undefined) {
      if (graceMs > 0 && this.holds.size > 0)
        this.#grace = new Promise((resolve) => {
          this.#endGrace = resolve;
        });
      else this.closed = true;
      this.#closing = this.#graceThenClose(releaseTimeoutMs);
    }
    if (graceMs === 0) this.#endGrace();
    else if (this.#grace !== undefined)
      void settledWithin(this.runtime, this.#grace, graceMs, { ref: true }).then(this.#endGrace);
    return this.#closing;
  }

  async #graceThenClose(releaseTimeoutMs: Millis): Promise<CloseReport> {
    // Yields first, so that `closing` is true before anything below can call back.
    await Promise.resolve();
    this.#stopping.abort(this.closedError());
    this.keepings?.close(this.#grace === undefined);
    if (this.#grace !== undefined) {
      await this.#forAll([...this.waiting], (each) => each.closing?.(this.closedError()));
      await this.#grace;
      this.closed = true;
    }
    return await this.#close(releaseTimeoutMs);
  }

  async #close(releaseTimeoutMs: Millis): Promise<CloseReport> {
    const endMs = this.runtime.nowMs() + releaseTimeoutMs;
    // Holders are notified of the loss before their entries are deleted, because a body may still be running.
    const ends: { readonly name: string; readonly byOwner: boolean; released?: boolean }[] = [];
    await this.#forAll([...this.holds, ...this.staying], (hold) => {
      // The owner has called `release()` already.
      const byOwner = !this.staying.has(hold) && hold.open.length === 0;
      const end: (typeof ends)[number] = { name: hold.name, byOwner };
      ends.push(end);
      this.trackCleaning(
        hold.closeDown().then((released) => {
          end.released = released;
        }),
      );
    });
    await this.#forAll([...this.waiting], (each) => each.providerClosed(this.closedError()));
    // Releases that ended as `unconfirmed` before still go on.
    const pending = [...this.#pendingReleases.values()].map(({ done }) => done);
    const cleaned = Promise.all([this.#cleaned(), ...pending]);
    await settledWithin(this.runtime, cleaned, Math.max(0, endMs - this.runtime.nowMs()), { ref: true });
    // Releases that are still awaited settle as `unconfirmed` now, because the alarms are closed below.
    await this.#forAll([...this.holds], (hold) => hold.abandonRelease());
    const released = ends.filter((end) => end.released === true && !end.byOwner).length;
    const unanswered = ends.filter((end) => end.released === undefined).map(({ name }) => name);
    const open = [...this.#pendingReleases.values()].map(({ name }) => name);
    const unconfirmed = [...new Set([...unanswered, ...open])];
    const driverClosed = new Promise<void>((resolve) => resolve(this.driver.close())).catch(warnOfClose);
    await settledWithin(this.runtime, driverClosed, Math.max(1_000, endMs - this.runtime.nowMs()), {
      ref: true,
    });
    this.alarms.close();
    this.waitAlarms.close();
    this.#linkListener[Symbol.dispose]();
    return { released, unconfirmed };
  }

  #cleaning = 0;
  #whenCleaned: (() => void) | undefined;

  /**
   * Registers a clean-up that no caller awaits. The next acquire of each name waits for it. The event `release-failed`
   * reports a failure, since something may be left.
   */
  cleanUp(left: readonly Left[], done: Promise<unknown>): void {
    for (const { kind, name, owner } of left) {
      this.rememberPendingRelease(name, done);
      done.catch((error) => {
        const reason = error instanceof BackendError && error.retryable ? "unconfirmed" : "refused";
        this.events.emit("release-failed", { kind, name, owner, reason, error });
      });
    }
    this.trackCleaning(done);
  }

  /** Counts a clean-up that no caller awaits. `close()` waits for it within its `releaseTimeoutMs`. */
  trackCleaning(work: Promise<unknown>): void {
    this.#cleaning++;
    const over = (): void => {
      if (--this.#cleaning === 0) this.#whenCleaned?.();
    };
    work.then(over, over);
  }

  /** Resolves when no clean-up is under way. Called once. */
  #cleaned(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#cleaning === 0) resolve();
      else this.#whenCleaned = resolve;
    });
  }

  #forAll<T>(items: readonly T[], each: (item: T) => void): Promise<void> {
    return new Promise((resolve) => inSlices(this.runtime, items, each, resolve));
  }

  #linkDown(): void {
    if (this.waiting.size === 0 || this.closed) return;
    this.contactRegained().catch((error) => {
      inSlices(this.runtime, [...this.waiting], (each) => {
        if (this.link.state !== "connected") each.outage?.(error);
      });
    });
  }
}

function warnOfClose(error: unknown): void {
  process.emitWarning(`closing the backend's client failed: ${messageOf(error)}`, {
    type: "HoldfastWarning",
  });
}
