import {
  BackendError,
  type FencingToken,
  type Grant,
  type GrantChange,
  type LossReason,
  type Millis,
} from "@holdfast/core";
import type { RenewAnswer, RenewEntry } from "../scripts/mutex/renew.js";
import type { BatchAnswer, BatchKind } from "./batches.js";
import type { RedisDesk } from "./desk.js";
import { DueRenewals, type Renewable } from "./due-renewals.js";
import { marginMs } from "./server-clock.js";

export interface HoldSpec {
  readonly lockName: string;
  readonly owner: string;
  /** Decides which master has to confirm it. */
  readonly key: string;
  readonly token: FencingToken;
  readonly leaseMs: Millis;
  readonly validUntilMs: Millis;
  /** When the request was sent, or the message came, that says that it is held. */
  readonly askedMs: Millis;
  /** Of the master that granted it. */
  readonly runId: string;
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly revocable: boolean;
  /** The server has given the claim lease only: this hold renews itself at once. */
  readonly claimed: boolean;
  readonly renewal: BatchKind<RenewEntry, RenewAnswer>;
  readonly renewKeys: readonly string[];
  readonly field: string;
  /** Default none. */
  readonly permitIds?: readonly string[];
  /** `false` when it was not ours any more. Called again after a renewal that came too late. */
  release(): Promise<boolean>;
}

/** A hold that lives by its lease. */
export class RedisHold implements Grant, Renewable {
  readonly token: FencingToken;
  readonly backendId: string;
  readonly permitIds: readonly string[];
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly spec: HoldSpec;
  readonly slot: number | null;
  readonly renewals: DueRenewals = new DueRenewals(this);
  readonly #desk: RedisDesk;
  readonly #learntMs: Millis;
  #validUntilMs: Millis;
  #confirmedSentMs: Millis = -Infinity;
  #runId: string;
  #uncertain = false;
  #renewing = false;
  #ended = false;
  #released = false;
  #listener: ((change: GrantChange) => void) | undefined;
  #untold: GrantChange[] = [];

  constructor(desk: RedisDesk, spec: HoldSpec) {
    this.#desk = desk;
    this.spec = spec;
    this.slot = desk.line.slotOf(spec.key);
    this.token = spec.token;
    this.backendId = spec.field;
    this.permitIds = spec.permitIds ?? [];
    this.roundTrips = spec.roundTrips;
    this.contended = spec.contended;
    this.#learntMs = desk.runtime.nowMs();
    this.#validUntilMs = spec.validUntilMs;
    this.#runId = spec.runId;
    // Rule 9: the answer of a master that was replaced before it could be delivered.
    const replaced = desk.line.state !== "connected" || desk.line.masterOf(spec.key) !== spec.runId;
    if (replaced || desk.holds.stolenSince(spec.owner, spec.askedMs)) this.becomeUncertain();
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
    return this.#desk.runtime.nowMs();
  }

  *besides(): Iterable<DueRenewals> {
    for (const hold of this.#desk.holds.inSlot(this.slot)) if (hold !== this) yield hold.renewals;
  }

  validUntilMs(): Millis {
    return this.#validUntilMs;
  }

  leaseUntilMs(): Millis {
    const { claimed, leaseMs, validUntilMs } = this.spec;
    return claimed ? this.#learntMs + leaseMs - marginMs(leaseMs) : validUntilMs;
  }

  onState(listener: (change: GrantChange) => void): void {
    this.#listener = listener;
    const untold = this.#untold;
    this.#untold = [];
    for (const change of untold) listener(change);
  }

  renew(leaseMs: Millis, options: { readonly due: boolean } = { due: false }): Promise<Millis | null> {
    return options.due ? this.renewals.due(leaseMs) : this.renewWithin(leaseMs);
  }

  async renewWithin(leaseMs: Millis, withinMs: Millis = 0): Promise<Millis | null> {
    const { key } = this.spec;
    const entry = { field: this.spec.field, leaseMs: Math.max(1, Math.floor(leaseMs)) };
    let answer: BatchAnswer<RenewAnswer>;
    try {
      answer = await this.#ask(entry, withinMs);
    } catch (error) {
      // No answer from this hold's master, while others may be connected: contact with it is broken.
      if (error instanceof BackendError && error.retryable) this.becomeUncertain();
      throw error;
    }
    const { reply, sentMs, runId, askedBy = runId } = answer;
    this.#desk.heard(reply.serverMs, answer);
    if (askedBy !== this.#desk.line.masterOf(key)) {
      // Rule 9: the word of a master that was replaced meanwhile counts for nothing, neither yes nor no.
      this.becomeUncertain();
      throw new BackendError("the master that answered does not serve this lock any more", {
        backend: "redis",
        lockName: this.spec.lockName,
      });
    }
    if (reply.status === "gone") {
      // Overtaken by our own release: that one says how it ended.
      if (this.#released) throw new BackendError("the hold was released meanwhile", { backend: "redis" });
      this.#end();
      return null;
    }
    if (this.#desk.clocks.of(runId)?.trusts(sentMs) === false) {
      // Rule 1: the time it tells may be by the clock of before the step. What is asked from now on is by the new one.
      this.becomeUncertain();
      return this.renewWithin(leaseMs);
    }
    this.#runId = runId;
    if (sentMs >= this.#confirmedSentMs) {
      this.#confirmedSentMs = sentMs;
      this.#validUntilMs = sentMs + reply.pttlMs - marginMs(reply.pttlMs);
    }
    this.#desk.sawToken(key, reply.token);
    this.#recovered();
    return this.#validUntilMs;
  }

  /**
   * Rule 2: a grant that was not the direct reply to an acquire has the claim lease. The first renewal sets the full one, and is tried
   * until then; afterwards core's come by the clock, which for a long lease would be too late.
   */
  async claim(): Promise<void> {
    const { leaseMs } = this.spec;
    await this.#renewOwn(leaseMs, () => this.#desk.runtime.nowMs() < this.#validUntilMs);
  }

  /** Rules 8 and 9, and after a step of the server's clock: only an answer tells whether it still stands. */
  async recheck(): Promise<void> {
    if (this.#renewing || this.#ended) return;
    const { leaseMs } = this.spec;
    const leftMs = Math.floor(this.#validUntilMs - this.#desk.runtime.nowMs());
    // Before core's first renewal most of the lease is left, and whether there will be one is core's to say.
    await this.#renewOwn(
      this.renewals.periodic ? leaseMs : Math.max(1, Math.min(leaseMs, leftMs)),
      () => this.#uncertain && this.#desk.line.state === "connected",
    );
  }

  becomeUncertain(): void {
    if (this.#uncertain || this.#ended) return;
    this.#uncertain = true;
    this.#tell({ type: "uncertain" });
  }

  revokeAsked(): void {
    if (this.spec.revocable && !this.#ended) this.#tell({ type: "revoke-requested" });
  }

  lost(reason: LossReason): void {
    if (this.#ended) return;
    this.#end();
    this.#tell({ type: "lost", reason });
  }

  release(): Promise<boolean> {
    this.#released = true;
    this.#end();
    return this.spec.release();
  }

  /** Its ticket is cancelled, which ends it at the server as well. */
  abandon(): void {
    this.#end();
  }

  /** Whatever still comes for it is not for it. */
  #end(): void {
    this.#ended = true;
    this.#desk.holds.remove(this);
  }

  async #renewOwn(leaseMs: Millis, again: () => boolean): Promise<void> {
    this.#renewing = true;
    try {
      do {
        try {
          const untilMs = await this.renew(leaseMs);
          if (untilMs === null) this.#tell({ type: "lost", reason: "lease-missing" });
          return;
        } catch {
          // It is uncertain by now, and the loop, core's own renewals or the next contact ask again.
          await this.#rest();
        }
      } while (!this.#ended && again());
    } finally {
      this.#renewing = false;
    }
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => this.#desk.runtime.setTimer(retryMs, resolve));
  }

  #ask(entry: RenewEntry, withinMs: Millis): Promise<BatchAnswer<RenewAnswer>> {
    const { renewal, renewKeys, key } = this.spec;
    const { settings, line, batches } = this.#desk;
    // Rule 11: what a failover may have lost has to be where the policy wants it before it counts again.
    if (settings.acks > 0 && this.#runId !== line.masterOf(key)) {
      return renewAcknowledged(this.#desk, { renewal, renewKeys, lockName: this.spec.lockName }, entry);
    }
    return batches.ask(renewal, renewKeys, entry, { withinMs, wanted: () => !this.#ended });
  }

  #recovered(): void {
    if (!this.#uncertain || this.#ended) return;
    this.#uncertain = false;
    this.#tell({ type: "recovered" });
  }

  #tell(change: GrantChange): void {
    if (this.#listener === undefined) this.#untold.push(change);
    else this.#listener(change);
  }
}

const retryMs: Millis = 100;

/** One renewal of its own, with WAIT behind it. Rejects when too few replicas have it. */
export async function renewAcknowledged(
  desk: RedisDesk,
  of: Pick<HoldSpec, "renewal" | "renewKeys" | "lockName">,
  entry: RenewEntry,
): Promise<BatchAnswer<RenewAnswer>> {
  const { renewal, renewKeys, lockName } = of;
  const { acks, waitTimeoutMs } = desk.settings;
  const { reply, acknowledged, ...told } = await desk.line.run(
    renewal.script,
    renewKeys,
    renewal.args([entry], renewKeys),
    { wait: { replicas: acks, timeoutMs: waitTimeoutMs } },
  );
  const [own] = reply;
  if (own === undefined) throw new RangeError("a renewal of one hold has no answer");
  if (own.status === "renewed") checkAcknowledged(desk, acknowledged, lockName);
  return { ...told, reply: own };
}

/** Rule 11: a grant that too few replicas have is none. */
export function checkAcknowledged(desk: RedisDesk, acknowledged: number | null, lockName: string): void {
  const { acks, replicas, waitTimeoutMs } = desk.settings;
  if (acks === 0 || (acknowledged ?? 0) >= acks) return;
  throw new BackendError(
    `granted by the master, but ${acknowledged ?? 0} of ${replicas} replicas have it after ${waitTimeoutMs} ms, and acks asks for ${acks}`,
    { backend: "redis", lockName },
  );
}
