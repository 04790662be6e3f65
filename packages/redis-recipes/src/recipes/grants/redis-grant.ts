import { BackendError, type FencingToken, type LossReason, type Millis } from "@holdfast/core";
import type { Grant, GrantState } from "@holdfast/core/driver";
import { ofLock } from "../../client/errors.js";
import type { RenewAnswer, RenewEntry } from "../../scripts/mutex/renew.js";
import type { BatchAnswer } from "../requests/batches.js";
import type { Requests } from "../requests/requests.js";
import { marginMs } from "../requests/server-clock.js";
import { DueRenewals, type Renewable } from "./due-renewals.js";
import type { GrantedLock, Held, Holds } from "./holds.js";

/** What an answer or a message of the server says of a grant. */
export interface Found {
  readonly token: FencingToken;
  /** By our clock, with the margin taken off. */
  readonly untilMs: Millis;
  /** When the request was sent, or the message came, that says that it is held. */
  readonly askedMs: Millis;
  /** Of the master that granted it. */
  readonly runId: string;
}

/** `answer`: to the request that says so; `reply`: the token, and how long the lease is. */
export function foundIn(
  { sentMs, runId }: { readonly sentMs: Millis; readonly runId: string },
  { token, pttlMs }: { readonly token: FencingToken; readonly pttlMs: Millis },
): Found {
  return { token, untilMs: sentMs + pttlMs - marginMs(pttlMs), runId, askedMs: sentMs };
}

export interface GrantSpec {
  readonly lock: GrantedLock;
  readonly owner: string;
  /** As the server and `inspect` know it. */
  readonly field: string;
  /** Default none. */
  readonly permitIds?: readonly string[];
  readonly leaseMs: Millis;
  readonly found: Found;
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly revocable: boolean;
  /** The server has given the claim lease only: this grant renews itself at once. */
  readonly claimed: boolean;
  /** `false` when it was not ours any more. Called again after a renewal that came too late. */
  release(): Promise<boolean>;
}

/** What a grant uses of its provider. */
export interface GrantParts {
  readonly requests: Requests;
  readonly holds: Holds;
}

const retryMs: Millis = 100;

/** A grant that lives by its lease. What happens to it without its holder is reported to core's side of it. */
export class RedisGrant implements Grant, Renewable, Held {
  readonly token: FencingToken;
  readonly backendId: string;
  readonly permitIds: readonly string[];
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly spec: GrantSpec;
  readonly slot: number | null;
  readonly renewals: DueRenewals = new DueRenewals(this);
  readonly #requests: Requests;
  readonly #holds: Holds;
  readonly #learntMs: Millis;
  #state!: GrantState;
  #validUntilMs: Millis;
  #confirmedSentMs: Millis = -Infinity;
  #runId: string;
  #rechecking = false;
  #ended = false;
  #released = false;

  constructor({ requests, holds }: GrantParts, spec: GrantSpec) {
    this.#requests = requests;
    this.#holds = holds;
    this.spec = spec;
    this.slot = requests.line.slotOf(spec.lock.key);
    this.token = spec.found.token;
    this.backendId = spec.field;
    this.permitIds = spec.permitIds ?? [];
    this.roundTrips = spec.roundTrips;
    this.contended = spec.contended;
    this.#learntMs = requests.runtime.nowMs();
    this.#validUntilMs = spec.found.untilMs;
    this.#runId = spec.found.runId;
    requests.sawToken(spec.lock.key, spec.found.token);
  }

  /** From now on it is renewed, and `state` hears what happens to it. */
  enter(state: GrantState): void {
    const { line } = this.#requests;
    const { lock, found, owner } = this.spec;
    this.#state = state;
    this.#holds.add(this);
    // Rule 9: the answer of a master that was replaced before it could be delivered.
    const replaced = line.state !== "connected" || line.masterOf(lock.key) !== found.runId;
    if (replaced || this.#holds.stolenSince(owner, found.askedMs)) this.becomeUncertain();
  }

  /** Another takes the place of the one that `enter` was given. */
  passTo(state: GrantState): void {
    this.#state = state;
  }

  get runId(): string {
    return this.#runId;
  }

  get confirmedSentMs(): Millis {
    return this.#confirmedSentMs;
  }

  get ended(): boolean {
    return this.#ended;
  }

  nowMs(): Millis {
    return this.#requests.runtime.nowMs();
  }

  *besides(): Iterable<DueRenewals> {
    for (const grant of this.#holds.inSlot(this.slot)) if (grant !== this) yield grant.renewals;
  }

  validUntilMs(): Millis {
    return this.#validUntilMs;
  }

  leaseUntilMs(): Millis {
    const { claimed, leaseMs, found } = this.spec;
    return claimed ? this.#learntMs + leaseMs - marginMs(leaseMs) : found.untilMs;
  }

  prove(leaseMs: Millis, options: { readonly due: boolean } = { due: false }): Promise<Millis | null> {
    return options.due ? this.renewals.due(leaseMs) : this.renewWithin(leaseMs);
  }

  async renewWithin(leaseMs: Millis, withinMs: Millis = 0): Promise<Millis | null> {
    const { field, lock } = this.spec;
    const entry = { field, leaseMs: Math.max(1, Math.floor(leaseMs)) };
    let answer: BatchAnswer<RenewAnswer>;
    try {
      answer = await this.#ask(entry, withinMs);
    } catch (error) {
      // No answer from this grant's master, while others may be connected: contact with it is broken.
      if (error instanceof BackendError && error.retryable) this.becomeUncertain();
      throw error;
    }
    const { reply, sentMs, runId, askedBy = runId } = answer;
    this.#requests.noteClock(reply.serverMs, answer);
    if (askedBy !== this.#requests.line.masterOf(lock.key)) {
      // Rule 9: the word of a master that was replaced meanwhile counts for nothing, neither yes nor no.
      this.becomeUncertain();
      throw new BackendError("the master that answered does not serve this lock any more", ofLock(lock.name));
    }
    if (reply.status === "gone") {
      // Overtaken by our own release: that one says how it ended.
      if (this.#released) throw new BackendError("the hold was released meanwhile", { backend: "redis" });
      this.abandon();
      return null;
    }
    if (!this.#requests.trusts({ runId, sentMs })) {
      // Rule 1: the time it tells may be by the clock of before the step. What is asked from now on is by the new one.
      this.becomeUncertain();
      return this.renewWithin(leaseMs);
    }
    this.#runId = runId;
    if (sentMs >= this.#confirmedSentMs) {
      this.#confirmedSentMs = sentMs;
      this.#validUntilMs = sentMs + reply.pttlMs - marginMs(reply.pttlMs);
    }
    this.#requests.sawToken(lock.key, reply.token);
    if (!this.#ended && this.#state.doubted) this.#state.recovered();
    return this.#validUntilMs;
  }

  /**
   * Rule 2: a grant that was not the direct reply to an acquire has the claim lease. The first renewal sets the full one, and is tried
   * until then; afterwards core's come by the clock, which for a long lease would be too late.
   */
  async claim(): Promise<void> {
    const { leaseMs } = this.spec;
    await this.#renewOwn(leaseMs, () => this.#requests.runtime.nowMs() < this.#validUntilMs);
  }

  /** Rules 8 and 9, and after a step of the server's clock: only an answer tells whether it still stands. */
  async recheck(): Promise<void> {
    if (this.#rechecking || this.#ended) return;
    const { leaseMs } = this.spec;
    const leftMs = Math.floor(this.#validUntilMs - this.#requests.runtime.nowMs());
    // Before core's first renewal most of the lease is left, and whether there will be one is core's to say.
    await this.#renewOwn(
      this.renewals.periodic ? leaseMs : Math.max(1, Math.min(leaseMs, leftMs)),
      () => this.#state.doubted && this.#requests.line.state === "connected",
    );
  }

  becomeUncertain(): void {
    if (!this.#ended && !this.#state.doubted) this.#state.uncertain();
  }

  revokeAsked(): void {
    if (this.spec.revocable && !this.#ended) this.#state.revokeRequested();
  }

  lost(reason: LossReason): void {
    if (this.#ended) return;
    this.abandon();
    this.#state.lost(reason);
  }

  release(): Promise<boolean> {
    this.#released = true;
    this.abandon();
    return this.spec.release();
  }

  /** It is over here: what still comes for it is ignored. */
  abandon(): void {
    this.#ended = true;
    this.#holds.remove(this);
  }

  async #renewOwn(leaseMs: Millis, again: () => boolean): Promise<void> {
    this.#rechecking = true;
    try {
      do {
        try {
          const untilMs = await this.renewWithin(leaseMs);
          if (untilMs === null) this.#state.lost("lease-missing");
          return;
        } catch {
          // It is uncertain by now, and the loop, core's own renewals or the next contact ask again.
          await new Promise<void>((resolve) => this.#requests.runtime.setTimer(retryMs, resolve));
        }
      } while (!this.#ended && again());
    } finally {
      this.#rechecking = false;
    }
  }

  #ask(entry: RenewEntry, withinMs: Millis): Promise<BatchAnswer<RenewAnswer>> {
    const { lock } = this.spec;
    const { settings, line, batches } = this.#requests;
    // Rule 11: what a failover may have lost has to be where the policy wants it before it counts again.
    if (settings.acks > 0 && this.#runId !== line.masterOf(lock.key)) {
      return renewAcknowledged(this.#requests, lock, entry);
    }
    return batches.ask(lock.renewal, lock.renewKeys, entry, { withinMs, wanted: () => !this.#ended });
  }
}

/** One renewal of its own, with WAIT behind it. Rejects when too few replicas have it. */
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
  if (own.status === "renewed") checkAcknowledged(requests, acknowledged, name);
  return { ...rest, reply: own };
}

/** Rule 11: a grant that too few replicas have is none. */
export function checkAcknowledged(requests: Requests, acknowledged: number | null, lockName: string): void {
  const { acks, replicas, waitTimeoutMs } = requests.settings;
  if (acks === 0 || (acknowledged ?? 0) >= acks) return;
  throw new BackendError(
    `granted by the master, but ${acknowledged ?? 0} of ${replicas} replicas have it after ${waitTimeoutMs} ms, and acks asks for ${acks}`,
    ofLock(lockName),
  );
}
