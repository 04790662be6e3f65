import {
  BackendError,
  type FencingToken,
  type KeepingEndReason,
  type LossReason,
  type Millis,
} from "@holdfast/core";
import type { Grant, GrantPlace, GrantState, KeepingState } from "@holdfast/core/driver";
import { ofLock } from "../../client/errors.js";
import type { RenewAnswer, RenewEntry } from "../../scripts/mutex/renew.js";
import type { Hearing } from "../queue/grant-channel.js";
import type { BatchAnswer } from "../requests/batches.js";
import type { Requests } from "../requests/requests.js";
import { marginMs } from "../requests/server-clock.js";
import { DueRenewals, type Renewable } from "./due-renewals.js";
import type { GrantedLock, Held, Holds } from "./holds.js";
import { KeptGrant, type Proof, type Provable } from "./kept-grant.js";
import { type KeptGrants, proofs } from "./kept-grants.js";

/** What an answer or a message of the server says of a grant. */
export interface Found {
  readonly token: FencingToken;
  /** When the lease ends by our clock, less the margin. */
  readonly untilMs: Millis;
  /** When the request was sent, or the message came, that shows that the lock is held. */
  readonly askedMs: Millis;
  /** Run id of the master that granted it. */
  readonly runId: string;
}

/** `answer`: to the request that shows the hold; `reply`: the token, and how long the lease is. */
export function foundIn(
  { sentMs, runId }: { readonly sentMs: Millis; readonly runId: string },
  { token, pttlMs }: { readonly token: FencingToken; readonly pttlMs: Millis },
): Found {
  return { token, untilMs: sentMs + pttlMs - marginMs(pttlMs), runId, askedMs: sentMs };
}

export interface GrantSpec extends Pick<Grant, "roundTrips" | "contended" | "place"> {
  readonly lock: GrantedLock;
  readonly owner: string;
  /** The name by which the server and `inspect` know the hold. */
  readonly field: string;
  /** Default none. */
  readonly permitIds?: readonly string[];
  readonly leaseMs: Millis;
  readonly found: Found;
  readonly revocable: boolean;
  /** Whether the server has given only the claim lease, so that this grant renews itself at once. */
  readonly claimed: boolean;
  /** Resolves with `false` when the hold was no longer ours. Called again after a renewal that came too late. */
  release(): Promise<boolean>;
  /** Called when the grant is over here, by its release or by its loss. Default: nothing is done. */
  readonly over?: (() => void) | undefined;
}

/** The parts of its provider that a grant uses. */
export interface GrantParts {
  readonly requests: Requests;
  readonly holds: Holds;
  readonly keptGrants: KeptGrants | null;
}

/** A grant that lives by its lease. It reports to core whatever happens to it without its holder. */
export class RedisGrant implements Grant, Renewable, Held, Provable {
  readonly backendId: string;
  readonly permitIds: readonly string[];
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly place: GrantPlace | undefined;
  readonly spec: GrantSpec;
  readonly slot: number | null;
  readonly renewals: DueRenewals = new DueRenewals(this);
  readonly #requests: Requests;
  readonly #holds: Holds;
  readonly #keptGrants: KeptGrants | null;
  readonly #learntMs: Millis;
  /** The value of `KeptGrants.hearing` at the grant. */
  readonly hearing: Hearing | null;
  /** The token of the latest owner. */
  token: FencingToken;
  /** Set once the holder has released and the provider keeps the lock. */
  #kept: KeptGrant | null = null;
  /** Another client has asked for the lock since the grant, or messages may be missing. */
  #wanted = false;
  #state!: GrantState;
  /** The grant is in doubt, and its holder is not notified yet. */
  #unheard = false;
  /** The value of `Holds.breaks` at the last notice. If it has changed, the holder is not notified yet of a break since then. */
  #heardBreaks: number;
  #validUntilMs: Millis;
  confirmedSentMs: Millis = -Infinity;
  runId: string;
  /** Settles with the first answer to, or failure of, a renewal that it asks for by itself; `null`: none is under way. */
  #ownRenewal: Promise<void> | null = null;
  /** It is over here, and answers or messages that still arrive for it are ignored. */
  ended = false;
  /** The number of the last read that was asked for beside this write; see `PolledOwner.readNumber`. */
  lastRead = 1;
  #released = false;

  constructor({ requests, holds, keptGrants }: GrantParts, spec: GrantSpec) {
    this.#requests = requests;
    this.#holds = holds;
    this.#heardBreaks = holds.breaks;
    this.#keptGrants = keptGrants;
    this.hearing = keptGrants?.hearing() ?? null;
    this.spec = spec;
    this.slot = requests.line.slotOf(spec.lock.key);
    this.token = spec.found.token;
    this.backendId = spec.field;
    this.permitIds = spec.permitIds ?? [];
    this.roundTrips = spec.roundTrips;
    this.contended = spec.contended;
    this.place = spec.place;
    this.#learntMs = requests.runtime.nowMs();
    this.#validUntilMs = spec.found.untilMs;
    this.runId = spec.found.runId;
    requests.sawToken(spec.lock.key, spec.found.token);
  }

  /** From now on the grant is renewed, and what happens to it is reported to `state`. */
  enter(state: GrantState): void {
    const { line } = this.#requests;
    const { lock, found, owner } = this.spec;
    this.#state = state;
    // A listener of another grant that was entered with this one has given up the call.
    if (this.ended) return;
    // Rule 9: the master that answered was replaced before the answer could be delivered.
    const replaced = line.state !== "connected" || line.masterOf(lock.key) !== found.runId;
    // Rule 1: the lease may have been measured by a clock that was stepped since.
    const dated = !this.#requests.trusts({ runId: found.runId, sentMs: found.askedMs });
    this.#holds.add(this, !replaced && !dated);
    if (replaced || dated || this.#holds.stolenSince(owner, found.askedMs)) this.becomeUncertain();
  }

  nowMs(): Millis {
    return this.#requests.runtime.nowMs();
  }

  *besides(): Iterable<DueRenewals> {
    for (const grant of this.#holds.inSlot(this.slot)) if (grant !== this) yield grant.renewals;
  }

  validUntilMs(): Millis {
    this.hear();
    return this.#validUntilMs;
  }

  provenMs(): Millis {
    this.hear();
    const { lock, found } = this.spec;
    if (this.#state.doubted || this.runId !== this.#requests.line.masterOf(lock.key)) return -Infinity;
    return Math.max(this.confirmedSentMs, found.askedMs);
  }

  leaseUntilMs(): Millis {
    const { claimed, leaseMs, found } = this.spec;
    return claimed ? this.#learntMs + leaseMs - marginMs(leaseMs) : found.untilMs;
  }

  prove(leaseMs: Millis, options: { readonly due: boolean } = { due: false }): Promise<Millis | null> {
    return options.due ? this.renewals.due(leaseMs) : this.renewWithin(leaseMs);
  }

  async renewWithin(leaseMs: Millis, withinMs: Millis = 0): Promise<Millis | null> {
    const entry = { field: this.spec.field, leaseMs: Math.max(1, Math.floor(leaseMs)) };
    let waitMs = withinMs;
    const confirmed = await this.#confirmed(() => {
      const answer = this.#ask(entry, waitMs);
      waitMs = 0;
      return answer;
    });
    return confirmed === null ? null : this.#validUntilMs;
  }

  /** Asks until an answer counts; then the lease of that answer counts. Resolves with `null` when the hold is gone. */
  async #confirmed<R extends RenewAnswer>(
    ask: () => Promise<BatchAnswer<R>>,
  ): Promise<BatchAnswer<Extract<R, { readonly status: "renewed" }>> | null> {
    const { lock } = this.spec;
    let answer: BatchAnswer<R>;
    try {
      answer = await ask();
    } catch (error) {
      // This grant's master did not answer, although others may be connected: contact with it is broken.
      if (error instanceof BackendError && error.retryable) this.becomeUncertain();
      throw error;
    }
    // Report a doubt that arose before this answer came first.
    this.hear();
    const { reply, sentMs, runId, askedBy = runId } = answer;
    if (askedBy !== this.#requests.line.masterOf(lock.key)) {
      // Rule 9: an answer of a master that was replaced meanwhile shows nothing, whether it says yes or no.
      this.becomeUncertain();
      throw new BackendError("the master that answered does not serve this lock any more", ofLock(lock.name));
    }
    if (reply.status === "gone") {
      // Our own release came first. Its answer shows how the hold ended.
      if (this.#released) throw new BackendError("the hold was released meanwhile", { backend: "redis" });
      // The owner that asked may not be the present one.
      if (this.#kept !== null) this.lost("lease-missing");
      else this.abandon();
      return null;
    }
    if (!this.#requests.trusts({ runId, sentMs })) {
      // Rule 1: the time in this answer may be by the server's clock before its step. A new request is answered by the new clock.
      this.becomeUncertain();
      return this.#confirmed(ask);
    }
    this.runId = runId;
    if (sentMs >= this.confirmedSentMs) {
      this.confirmedSentMs = sentMs;
      this.#validUntilMs = sentMs + reply.pttlMs - marginMs(reply.pttlMs);
    }
    this.#requests.sawToken(lock.key, reply.token);
    if (!this.ended && this.#state.doubted) this.#state.recovered();
    return { ...answer, reply: reply as Extract<R, { readonly status: "renewed" }> };
  }

  // -------- kept for the next owner

  keep(): boolean {
    this.hear();
    const { lock, found, claimed } = this.spec;
    const { line } = this.#requests;
    if (this.ended || this.#wanted || claimed || lock.proof === undefined || this.#state.doubted)
      return false;
    if (line.state !== "connected" || line.masterOf(lock.key) !== found.runId || this.runId !== found.runId)
      return false;
    const books = this.#keptGrants;
    if (books === null || this.hearing === null || books.hearing() !== this.hearing) return false;
    this.#kept = new KeptGrant(books, this, this.#state as KeepingState);
    return true;
  }

  mayLend(): "yes" | "soon" | "no" {
    this.hear();
    return this.#kept?.mayLend() ?? "no";
  }

  lend(): FencingToken {
    if (this.#kept !== null) this.token = this.#kept.lend();
    this.#holds.toBeDelivered(this);
    return this.token;
  }

  askProof(reserves: boolean): Promise<Proof | null> {
    const { field, leaseMs, lock } = this.spec;
    const { keys, channel } = lock.proof as Required<GrantedLock>["proof"];
    const entry = { field, leaseMs, channel, reserves };
    return this.#confirmed(() =>
      this.#requests.batches.ask(proofs, keys, entry, { wanted: () => !this.ended }),
    );
  }

  /** Another client asks for the lock, or may have asked for it. */
  wanted(): void {
    this.#wanted = true;
    if (this.#kept !== null && !this.ended) (this.#state as KeepingState).wanted();
  }

  /**
   * Rule 2: a grant that was not the direct reply to an acquire has the claim lease. The first renewal sets the full lease, and
   * is retried until it succeeds or the lease is over. `Holds.claimSoon` calls this, since core's renewals come by the clock,
   * which for a long lease would be too late.
   */
  async claim(): Promise<void> {
    await this.#renewOwn(this.spec.leaseMs, () => this.nowMs() < this.#validUntilMs);
  }

  /**
   * Rules 8 and 9, and after a step of the server's clock: only an answer shows whether the grant still stands. Resolves as
   * `#renewOwn` does.
   */
  async recheck(): Promise<void> {
    if (this.ended) return;
    if (this.#ownRenewal !== null) return this.#ownRenewal;
    const { leaseMs } = this.spec;
    const leftMs = Math.floor(this.#validUntilMs - this.#requests.runtime.nowMs());
    // Before core's first renewal most of the lease is left, and core decides whether there will be one. So only the remaining
    // lease is set again.
    await this.#renewOwn(
      this.renewals.periodic ? leaseMs : Math.max(1, Math.min(leaseMs, leftMs)),
      () => this.#state.doubted && this.#requests.line.state === "connected",
    );
  }

  get delivered(): boolean {
    return this.#state.delivered;
  }

  /** If the caller does not have the grant yet, the doubt is reported at once, so that no unproven grant is delivered. */
  doubt(): void {
    this.#unheard = true;
    if (!this.delivered) this.hear();
  }

  hear(): void {
    const { breaks } = this.#holds;
    if (!this.#unheard && this.#heardBreaks === breaks) return;
    this.#unheard = false;
    this.#heardBreaks = breaks;
    this.becomeUncertain();
  }

  becomeUncertain(): void {
    // If the lock is kept and idle, it is given back now, since there will be no reconnect after which that could be done.
    if (this.#requests.line.state === "connected") this.wanted();
    if (!this.ended && !this.#state.doubted) this.#state.uncertain();
  }

  revokeAsked(): void {
    if ((this.spec.revocable || this.#kept !== null) && !this.ended) this.#state.revokeRequested();
    // A request that was meant for one owner must not reach the next owner.
    this.wanted();
  }

  gone(): void {
    this.#state.lost("lease-missing");
  }

  lost(reason: LossReason): void {
    if (this.ended) return;
    this.abandon();
    this.#state.lost(reason);
  }

  release(ended?: KeepingEndReason): Promise<boolean> {
    this.#released = true;
    this.abandon();
    const released = this.spec.release();
    const forJava = ended === "max-keep" || this.#kept?.javaListens === true;
    if (this.#kept !== null && this.#requests.settings.javaPeers && forJava)
      this.#keptGrants?.leaveToJava(this.spec.lock.key, released);
    return released;
  }

  abandon(): void {
    this.ended = true;
    this.#kept?.stop();
    this.#holds.remove(this);
    this.spec.over?.();
  }

  /** Resolves with the first answer or failure. After a failure it is tried again while `again` returns `true`. */
  #renewOwn(leaseMs: Millis, again: () => boolean): Promise<void> {
    this.#ownRenewal = this.#askForOwn(leaseMs, again);
    return this.#ownRenewal;
  }

  async #askForOwn(leaseMs: Millis, again: () => boolean): Promise<void> {
    let untilMs: Millis | null;
    try {
      untilMs = await this.renewWithin(leaseMs);
    } catch {
      // A failure in transport has made the hold uncertain. A refusal meets core's own renewals too, which report it. Here it is
      // only tried again.
      this.#holds.soon(() => {
        this.#ownRenewal = null;
        if (!this.ended && again()) void this.#renewOwn(leaseMs, again);
      });
      return;
    }
    this.#ownRenewal = null;
    if (untilMs === null) this.gone();
  }

  #ask(entry: RenewEntry, withinMs: Millis): Promise<BatchAnswer<RenewAnswer>> {
    const { lock } = this.spec;
    const { settings, line, batches } = this.#requests;
    // Rule 11: a hold that a failover may have lost must be at as many replicas as the policy asks for before it counts again.
    if (settings.acks > 0 && this.runId !== line.masterOf(lock.key)) {
      return renewAcknowledged(this.#requests, lock, entry);
    }
    return batches.ask(lock.renewal, lock.renewKeys, entry, { withinMs, wanted: () => !this.ended });
  }
}

/** Sends one renewal in a call of its own, with WAIT behind it. Rejects when too few replicas have it. */
export async function renewAcknowledged(
  requests: Requests,
  { renewal, renewKeys, name }: GrantedLock,
  entry: RenewEntry,
): Promise<BatchAnswer<RenewAnswer>> {
  const { acks, waitTimeoutMs } = requests.settings;
  const args = renewal.args([entry], renewKeys, requests);
  const wait = { replicas: acks, timeoutMs: waitTimeoutMs };
  const answer = await requests.line.run(renewal.script, renewKeys, args, { wait });
  const { reply, acknowledged, ...rest } = answer;
  const [own] = reply;
  if (own === undefined) throw new RangeError("a renewal of one hold has no answer");
  requests.noteClock(own.serverMs, answer);
  if (own.status === "renewed") checkAcknowledged(requests, acknowledged, name);
  return { ...rest, reply: own };
}

/** Rule 11: a grant that too few replicas have does not count. Throws `BackendError` for it. */
export function checkAcknowledged(requests: Requests, acknowledged: number | null, lockName: string): void {
  const { acks, replicas, waitTimeoutMs } = requests.settings;
  if (acks === 0 || (acknowledged ?? 0) >= acks) return;
  throw new BackendError(
    `granted by the master, but ${acknowledged ?? 0} of ${replicas} replicas have it after ${waitTimeoutMs} ms, and acks asks for ${acks}`,
    ofLock(lockName),
  );
}
