import type { Grant, GrantState, KeepingState } from "../api/driver.js";
import type { KeptLock } from "../api/provider.js";
import type { FencingToken, KeepingEndReason, LossReason, Millis, Owner } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import { lastTurn } from "../fencing/token-gate.js";
import { isLike, type KeepTerms } from "./keep-terms.js";

/** A request of this provider that waits in memory for a lock that the provider keeps. */
export interface LocalWaiter {
  readonly terms: KeepTerms;
  /** The lock is lent to this request. */
  lent(tenant: Tenant): void;
  /** The lock is lent to another owner. A request that may not wait is over, and leaves. Called at most once. */
  mustWait(): void;
  /**
   * Nothing will be lent to this request any more, so it has to ask the backend. `lost`: why the hold was lost, or `null`. A
   * loss also takes the place that the request would have had at the backend.
   */
  askBackend(lost: LossReason | null): void;
}

/** What a keeping needs of its provider. */
export interface KeepingBooks {
  readonly closing: boolean;
  readonly maxKeepMs: Millis;
  readonly ownersLabelled: boolean;
  nowMs(): Millis;
  /**
   * Whether everything that had reached the sockets until a few milliseconds ago was read. Also starts a check, so that the
   * next call can answer.
   */
  heardAll(): boolean;
  afterTurn(fn: () => void): void;
  /** Whether one more lock may be kept. An idle keeping may have to end for it. */
  hasRoom(): boolean;
  begun(keeping: Keeping): void;
  idle(keeping: Keeping): void;
  lent(keeping: Keeping): void;
  wakeAt(keeping: Keeping, atMs: Millis): void;
  /** The keeping is over. `undeleted`: contact is broken, and the entry has to be deleted once contact is back. */
  over(keeping: Keeping, undeleted: boolean): void;
  /** The entry of an idle keeping is being given back, and no caller waits for that. */
  givenBack(keeping: Keeping, done: Promise<boolean>): void;
  ended(keeping: Keeping, reason: KeepingEndReason): void;
}

type Phase =
  | "granted" // the first owner has the lock, or is about to get it
  | "idle" // kept for the next owner
  | "lent"
  | "undeleted" // over; the entry is left at the backend, and is deleted with the next contact
  | "over";

/**
 * One grant of the backend that the provider may keep after its first release and lend to its next owners, one at a time. A
 * `Tenant` is one owner's share in it. The driver reports to the keeping, which passes the report on to the present tenant.
 *
 * To lend it is one synchronous step, and so is to give it back: everything that decides is read in that step, with no `await`
 * before the state changes. A keeping that is over is never revived: the next one begins with a new entry at the backend.
 */
export class Keeping extends Alarm implements KeepingState {
  readonly grant: Grant;
  /** The terms of the first owner; all later owners have the same. */
  readonly terms: KeepTerms;
  /** The latest owner. Events about what may be left at the backend name it. */
  owner: Owner;
  lends = 0;
  readonly #books: KeepingBooks;
  /** This grant did not have to wait, and the grant before it was for this provider too, with none in between. */
  readonly #follows: boolean;
  readonly #grantedAtMs: Millis;
  #phase: Phase = "granted";
  #tenant: Tenant | null;
  #turn = 0;
  /** Contact was in doubt since the grant, so the wish of another client may have been missed. */
  #broken = false;
  /** Why the keeping ends; set when the lock must not be lent again. */
  #ending: KeepingEndReason | null = null;
  readonly #waiters = new Set<LocalWaiter>();
  /** The waiters that came while the lock was idle, and wait for a turn of the event loop or for an answer of the backend. */
  #unsettled: LocalWaiter[] = [];
  #turning = false;
  #keptAtMs: Millis = 0;
  #idleUntilMs: Millis = 0;

  constructor(books: KeepingBooks, terms: KeepTerms, grant: Grant, follows: boolean) {
    super();
    this.#books = books;
    this.terms = terms;
    this.owner = terms.owner;
    this.grant = grant;
    this.#follows = follows;
    this.#grantedAtMs = books.nowMs();
    const { roundTrips, contended, token } = grant;
    this.#tenant = new Tenant(this, terms, { roundTrips, contended, token, turn: 0, lent: false });
  }

  /** The share of the first owner. */
  get tenant(): Tenant {
    return this.#tenant as Tenant;
  }

  /**
   * Whether a request with these terms may wait in memory for this lock. Otherwise it asks the backend, and counts there as a
   * wish like that of any other client.
   */
  lendsTo(terms: KeepTerms): boolean {
    return this.#ending === null && isLike(this.terms, terms, this.#books.ownersLabelled);
  }

  /** Adds a waiter, which may get the lock at once. */
  wait(waiter: LocalWaiter): void {
    this.#waiters.add(waiter);
    this.#serve();
    if (!this.#waiters.has(waiter)) return;
    if (this.lent) waiter.mustWait();
    else this.#unsettled.push(waiter);
  }

  leave(waiter: LocalWaiter): void {
    this.#waiters.delete(waiter);
  }

  get lent(): boolean {
    return this.#phase === "lent";
  }

  /** Whether `tenant` is the present tenant. */
  has(tenant: Tenant): boolean {
    return tenant === this.#tenant;
  }

  describe(): KeptLock {
    const { kind, name } = this.terms;
    return { kind, name, sinceMs: this.forMs, lends: this.lends, lent: this.lent };
  }

  /** Time since its first release. */
  get forMs(): Millis {
    return this.#books.nowMs() - this.#keptAtMs;
  }

  // -------- the tenant

  /** The present tenant has released. `false`: the lock is not kept, and the release has to go to the backend. */
  takeBack(tenant: Tenant, keep: boolean): boolean {
    if (tenant !== this.#tenant || this.#phase === "over") return false;
    const nowMs = this.#books.nowMs();
    this.#ending ??= this.#reasonAgainst(tenant, keep, nowMs);
    if (this.#ending !== null) return false;
    if (this.#phase === "granted") {
      if (!this.#follows || !this.#books.hasRoom() || this.grant.keep?.() !== true) return false;
      this.#keptAtMs = nowMs;
      this.#books.begun(this);
    }
    this.#tenant = null;
    this.#phase = "idle";
    this.#idleUntilMs = Math.min(nowMs + tenant.terms.options.keepMs, this.#wholeUntilMs);
    this.#books.idle(this);
    this.#books.wakeAt(this, this.#idleUntilMs);
    // In `keep()` the driver may have reported the wish of another client.
    if (this.#ending !== null) this.#giveBack();
    else this.#serve();
    return true;
  }

  #reasonAgainst(tenant: Tenant, keep: boolean, nowMs: Millis): KeepingEndReason | null {
    if (this.#books.closing) return "closed";
    if (this.#broken) return "lost";
    if (!keep) return "released";
    if (tenant.tokenRead && this.sharesToken && tenant.terms.options.fenceBy === "token") return "token-read";
    return nowMs >= this.#wholeUntilMs || this.#turn >= lastTurn ? "max-keep" : null;
  }

  /** Whether all owners have the same token, so that only their turns tell them apart. */
  get sharesToken(): boolean {
    return this.grant.lend === undefined;
  }

  get #wholeUntilMs(): Millis {
    return this.#grantedAtMs + this.#books.maxKeepMs;
  }

  /** Releases the grant at the backend, for the present tenant. */
  release(tenant: Tenant): Promise<boolean> {
    if (tenant !== this.#tenant) return Promise.resolve(false);
    const kept = this.#phase === "lent";
    this.#phase = "over";
    if (!kept) return this.grant.release();
    const overByClock = this.#books.nowMs() >= this.grant.validUntilMs();
    this.#ending ??= this.#books.closing ? "closed" : overByClock ? "lost" : "released";
    this.#books.over(this, false);
    const done = this.#letGo();
    this.#sendOn(null);
    this.#books.ended(this, this.#ending);
    return done;
  }

  // -------- what ends it

  /**
   * Stops lending. An idle keeping is over at once, and a lent one is over with the release of its tenant. The waiters in
   * memory ask the backend at once.
   */
  end(reason: KeepingEndReason): void {
    if (this.#ending !== null) return;
    this.#ending = reason;
    if (this.#phase === "idle") this.#giveBack();
    else this.#sendOn(null);
  }

  ring(): void {
    if (this.#phase === "idle") this.#endIfDue();
  }

  #endIfDue(): void {
    const nowMs = this.#books.nowMs();
    if (nowMs < this.#idleUntilMs) {
      this.#books.wakeAt(this, this.#idleUntilMs);
      return;
    }
    this.end(nowMs >= this.#wholeUntilMs ? "max-keep" : "idle");
  }

  /** Deletes the entry. The delete is sent before the requests of our own waiters, in the same write. */
  #giveBack(): void {
    this.#delete();
    this.#sendOn(null);
    this.#books.ended(this, this.#ending as KeepingEndReason);
  }

  /** Deletes an entry that is still left, because there is contact again or the provider closes. */
  deleteEntry(): void {
    if (this.#phase === "undeleted") this.#delete();
  }

  /** Gives the grant back. No owner has the lock, and no caller waits for the answer. */
  #delete(): void {
    this.#phase = "over";
    this.#books.over(this, false);
    this.#books.givenBack(this, this.#letGo());
  }

  /** A driver that throws is treated like one that rejects. Otherwise the waiters in memory would wait for ever. */
  async #letGo(): Promise<boolean> {
    return await this.grant.release(this.#ending as KeepingEndReason);
  }

  /** The provider closes its session, which ends the entry too, so nothing is sent. */
  drop(): void {
    if (this.#phase !== "idle") return;
    this.#phase = "over";
    this.#ending = "closed";
    this.#books.over(this, false);
    this.#sendOn(null);
    this.#books.ended(this, "closed");
  }

  /** The waiters in memory ask the backend, in their order. */
  #sendOn(lost: LossReason | null): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.askBackend(lost);
  }

  // -------- lending

  /**
   * Lends the lock to the first waiter, if that is allowed now. `turned`: the event loop has read everything that had arrived
   * when this waiter came. Everything else is read in this step. In `mayLend()` the driver may report the wish of another
   * client; then the keeping is over.
   */
  #serve(turned = false): void {
    const [next] = this.#waiters;
    if (next === undefined || this.#phase !== "idle") return;
    if (this.#books.nowMs() >= this.#idleUntilMs) {
      this.#endIfDue();
      return;
    }
    const may = this.grant.mayLend?.() ?? "no";
    if (this.#phase !== "idle") return;
    if (may === "no") {
      this.end("lost");
      return;
    }
    if (may === "soon") return;
    if (!this.#books.heardAll() && !turned) {
      this.#afterTurn();
      return;
    }
    this.#waiters.delete(next);
    if (this.sharesToken) this.#turn++;
    this.lends++;
    this.#phase = "lent";
    this.owner = next.terms.owner;
    const token = this.grant.lend?.() ?? this.grant.token;
    const share = { roundTrips: 0, contended: false, token, turn: this.#turn, lent: true };
    const tenant = new Tenant(this, next.terms, share);
    this.#tenant = tenant;
    this.#books.lent(this);
    next.lent(tenant);
    const unsettled = this.#unsettled;
    this.#unsettled = [];
    for (const waiter of unsettled) if (this.#waiters.has(waiter)) waiter.mustWait();
  }

  #afterTurn(): void {
    if (this.#turning) return;
    this.#turning = true;
    const [first] = this.#waiters;
    this.#books.afterTurn(() => {
      this.#turning = false;
      // If the first waiter has gone meanwhile, the next one came later, and needs a turn of its own.
      const [next] = this.#waiters;
      this.#serve(next === first);
    });
  }

  // -------- what the driver reports

  get delivered(): boolean {
    return this.#tenant?.state.delivered ?? true;
  }

  get doubted(): boolean {
    return this.#tenant?.state.doubted ?? false;
  }

  /**
   * Ends the keeping. The wish of another client may be lost with the connection, so a lock that was kept over the break must
   * not be lent.
   */
  uncertain(): void {
    this.#broken = true;
    if (this.#phase === "idle") {
      this.#ending = "lost";
      this.#phase = "undeleted";
      this.#books.over(this, true);
      this.#sendOn(null);
      this.#books.ended(this, "lost");
      return;
    }
    this.#tenant?.state.uncertain();
    if (this.#phase === "lent") this.end("lost");
  }

  recovered(): void {
    this.#tenant?.state.recovered();
  }

  revokeRequested(): void {
    if (this.#tenant?.terms.options.revocable === true) this.#tenant.state.revokeRequested();
  }

  wanted(): void {
    this.end("wanted");
  }

  answered(): void {
    this.#serve();
  }

  lost(reason: LossReason): void {
    const before = this.#phase;
    this.#phase = "over";
    this.#ending ??= "lost";
    if (before !== "granted") this.#books.over(this, false);
    this.#tenant?.state.lost(reason);
    this.#sendOn(reason);
    if (before === "idle" || before === "lent") this.#books.ended(this, this.#ending);
  }
}

type Share = Pick<Grant, "roundTrips" | "contended" | "token"> & {
  readonly turn: number;
  readonly lent: boolean;
};

/** One owner's share in a grant that may be kept. It can use the grant only while it is the present tenant. */
export class Tenant implements Grant {
  readonly terms: KeepTerms;
  readonly backendId: string;
  readonly permitIds: readonly string[];
  readonly roundTrips: number;
  readonly contended: boolean;
  /** The token for events and errors, which does not count as shown to the holder. The holder gets it from `showToken()`. */
  readonly token: FencingToken | null;
  /** See `LockHandle.turn`. */
  readonly turn: number;
  /** Whether the lock was lent to this owner, so that no request was sent. */
  readonly lent: boolean;
  /** Core's side of its hold. It is set before the driver can report anything to it. */
  state!: GrantState;
  /** Whether the holder has read the token. */
  tokenRead = false;
  readonly #keeping: Keeping;
  #givenBack = false;

  constructor(keeping: Keeping, terms: KeepTerms, { roundTrips, contended, token, turn, lent }: Share) {
    const { backendId, permitIds } = keeping.grant;
    this.#keeping = keeping;
    this.terms = terms;
    this.backendId = backendId;
    this.permitIds = permitIds;
    this.roundTrips = roundTrips;
    this.contended = contended;
    this.token = token;
    this.turn = turn;
    this.lent = lent;
  }

  /**
   * Returns the token for the holder. No token is shown to two owners. `undefined`: the lock was given back before
   * the token was read.
   */
  showToken(): FencingToken | null | undefined {
    const unread = this.#givenBack && !this.tokenRead;
    if (unread && this.#keeping.sharesToken && this.terms.options.fenceBy === "token") return undefined;
    this.tokenRead = true;
    return this.token;
  }

  /** The driver's grant, for a request that is built on it. The lock is not kept after that. */
  exposed(): Grant {
    this.#keeping.end("not-lendable");
    return this.#keeping.grant;
  }

  /**
   * The holder has released, and the provider may keep the lock. `false`: the lock is not kept, and `release()` has to be called.
   */
  giveBack(keep: boolean): boolean {
    if (this.#givenBack) return false;
    const kept = this.#keeping.takeBack(this, keep);
    this.#givenBack = true;
    return kept;
  }

  validUntilMs(): Millis {
    return this.#present?.validUntilMs() ?? 0;
  }

  sureUntilMs(): Millis {
    const grant = this.#present;
    return grant === null ? 0 : (grant.sureUntilMs?.() ?? Infinity);
  }

  attend(): void {
    this.#present?.attend?.();
  }

  prove(leaseMs: Millis, options?: { readonly due: boolean }): Promise<Millis | null> {
    return this.#present?.prove(leaseMs, options) ?? Promise.resolve(null);
  }

  release(): Promise<boolean> {
    return this.#keeping.release(this);
  }

  get #present(): Grant | null {
    return this.#keeping.has(this) ? this.#keeping.grant : null;
  }
}
