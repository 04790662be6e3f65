import type { Grant, GrantState, KeepingState } from "../api/driver.js";
import type { KeptLock } from "../api/provider.js";
import type { FencingToken, KeepingEndReason, LossReason, Millis, Owner } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import { lastTurn } from "../fencing/token-gate.js";
import { isLike, type KeepTerms } from "./keep-terms.js";

/** A request of this provider that stands in memory, for a lock that the provider keeps. */
export interface LocalWaiter {
  readonly terms: KeepTerms;
  /** The lock is lent to it. */
  lent(tenant: Tenant): void;
  /** The lock is lent to another owner: a request that may not wait is over, and leaves. Called once at most. */
  mustWait(): void;
  /** Nothing will be lent to it any more: it asks the backend. `lost`: the place that it would have had there is gone with the hold. */
  askBackend(lost: LossReason | null): void;
}

/** What a keeping needs of the books of its provider. */
export interface KeepingBooks {
  readonly closing: boolean;
  readonly maxKeepMs: Millis;
  readonly ownersLabelled: boolean;
  nowMs(): Millis;
  /** What the sockets have was read up to a few milliseconds ago. Also sees to it that this is known the next time. */
  heardAll(): boolean;
  afterTurn(fn: () => void): void;
  /** Whether one more may be kept. Another one may be ended for it. */
  hasRoom(): boolean;
  begun(keeping: Keeping): void;
  idle(keeping: Keeping): void;
  lent(keeping: Keeping): void;
  wakeAt(keeping: Keeping, atMs: Millis): void;
  /** Over. `undeleted`: contact is broken, and the entry has to be deleted once it is back. */
  over(keeping: Keeping, undeleted: boolean): void;
  /** The entry of an idle one is given back, which no caller waits for. */
  givenBack(keeping: Keeping, done: Promise<boolean>): void;
  ended(keeping: Keeping, reason: KeepingEndReason): void;
}

type Phase =
  | "granted" // the first owner has it, or is about to get it
  | "idle" // kept for the next owner
  | "lent"
  | "undeleted" // over, and what is left at the backend is deleted with the next contact
  | "over";

/**
 * One grant of the backend that the provider may keep after its first release and lend to its next owners, one at a time. The driver
 * reports here; what it reports reaches the present tenant.
 *
 * It is lent and given back in one synchronous step each: all that decides is read there, with no `await` before the state changes. It is
 * never revived: the next one begins with a new entry at the backend.
 */
export class Keeping extends Alarm implements KeepingState {
  readonly grant: Grant;
  /** The terms of the first owner; those of all others are alike. */
  readonly terms: KeepTerms;
  /** The latest owner: the events about what is left speak of it. */
  owner: Owner;
  lends = 0;
  readonly #books: KeepingBooks;
  /** The grant before this one was ours too, with none in between. */
  readonly #follows: boolean;
  readonly #grantedAtMs: Millis;
  #phase: Phase = "granted";
  #tenant: Tenant | null;
  #turn = 0;
  /** Contact has been in doubt since the grant: the wish of another client may have been missed. */
  #broken = false;
  /** Set when it must not be lent again. */
  #ending: KeepingEndReason | null = null;
  readonly #waiters = new Set<LocalWaiter>();
  /** The waiters that came while it was idle, and wait for a turn of the loop or for an answer. */
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

  /** The first owner's share. */
  get tenant(): Tenant {
    return this.#tenant as Tenant;
  }

  /** Whether this request may stand in memory for it. Otherwise it asks the backend, and is a wish like any other client's. */
  lendsTo(terms: KeepTerms): boolean {
    return this.#ending === null && isLike(this.terms, terms, this.#books.ownersLabelled);
  }

  /** Its turn comes here, at once perhaps. */
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

  /** Whether the grant is this one's. */
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

  /** The present tenant is done. `false`: the lock is not kept, and the release goes to the backend. */
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
    // The driver may have had news in `keep()`.
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

  /** All owners have one token, and only their turns tell them apart. */
  get sharesToken(): boolean {
    return this.grant.lend === undefined;
  }

  get #wholeUntilMs(): Millis {
    return this.#grantedAtMs + this.#books.maxKeepMs;
  }

  /** The present tenant's release at the backend. */
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
   * Stops lending. An idle keeping is over at once, a lent one with the release of its tenant. The waiters in memory ask the backend
   * at once.
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

  /** The delete leaves in front of what our own waiters ask, in the same write. */
  #giveBack(): void {
    this.#delete();
    this.#sendOn(null);
    this.#books.ended(this, this.#ending as KeepingEndReason);
  }

  /** The entry was not deleted yet: there is contact again, or the provider closes. */
  deleteEntry(): void {
    if (this.#phase === "undeleted") this.#delete();
  }

  /** No owner has it, and none waits for the answer. */
  #delete(): void {
    this.#phase = "over";
    this.#books.over(this, false);
    this.#books.givenBack(this, this.#letGo());
  }

  /** A driver that throws instead of rejecting is treated alike: the waiters in memory would stand for ever. */
  async #letGo(): Promise<boolean> {
    return await this.grant.release(this.#ending as KeepingEndReason);
  }

  /** The provider closes its session, and with it the entry: nothing is sent. */
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
   * `turned`: the loop has read all that had arrived when this waiter came. All else is read here and now: the driver may have news in
   * `mayLend()`, and then the keeping is over.
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
    this.#books.afterTurn(() => {
      this.#turning = false;
      this.#serve(true);
    });
  }

  // -------- what the driver reports

  get delivered(): boolean {
    return this.#tenant?.state.delivered ?? true;
  }

  get doubted(): boolean {
    return this.#tenant?.state.doubted ?? false;
  }

  /** What was kept over a cut would be lent although the wish of another client was lost with the connection. */
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

/** One owner's share in a grant that may be kept. It reaches the grant only while it is the present one. */
export class Tenant implements Grant {
  readonly terms: KeepTerms;
  readonly backendId: string;
  readonly permitIds: readonly string[];
  readonly roundTrips: number;
  readonly contended: boolean;
  /** The token for events and errors, which are no holder's; the holder gets it from `showToken()`. */
  readonly token: FencingToken | null;
  /** See `LockHandle.turn`. */
  readonly turn: number;
  /** No request was sent for it. */
  readonly lent: boolean;
  /** Core's side of its hold. Set before anything is reported to it. */
  state!: GrantState;
  /** The holder has seen the token. */
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

  /** The token for the holder: none is shown to two owners. `undefined`: the lock was given back before the token was read. */
  showToken(): FencingToken | null | undefined {
    const unread = this.#givenBack && !this.tokenRead;
    if (unread && this.#keeping.sharesToken && this.terms.options.fenceBy === "token") return undefined;
    this.tokenRead = true;
    return this.token;
  }

  /** The driver's grant; for requests that are built on it. It is not kept after that. */
  exposed(): Grant {
    this.#keeping.end("not-lendable");
    return this.#keeping.grant;
  }

  /** The holder is done, and the provider may keep the lock. `false`: `release()` has to be called. */
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
