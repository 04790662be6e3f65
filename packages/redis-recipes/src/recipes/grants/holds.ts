import type { FencingToken, LossReason, Millis } from "@holdfast/core";
import { EarliestTimer, inSlices, RecentMap } from "@holdfast/core/internal";
import { type WireOwners, writerField } from "../../layout/owners.js";
import type { RenewAnswer, RenewEntry } from "../../scripts/mutex/renew.js";
import type { BatchKind } from "../requests/batches.js";
import { Groups } from "../requests/groups.js";
import type { Requests } from "../requests/requests.js";
import type { DueRenewals, Renewable } from "./due-renewals.js";

/** How many forced releases are remembered. If an older one has ended a hold, the first renewal of that hold finds it gone. */
const rememberedForced = 10_000;

/** From this number on, holds that were delivered meanwhile are removed from the list of undelivered holds. */
const leastUndelivered = 100;
/** How many holds are asked about at once: more than the calls that a connection has under way contain. */
const mostRechecks = 500;
/** The pause after a renewal that failed. */
const retryMs: Millis = 100;
/** A hold that was handed over and ends within this time, or within this share of its claim lease, costs no renewal. */
const claimAfterMs: Millis = 10;
const claimAfterShare = 1 / 30;

/** The lock of a grant, as far as the grant needs to know it. */
export interface GrantedLock {
  /** The name as the caller gave it. */
  readonly name: string;
  /** The key that decides which master has to confirm the grant. */
  readonly key: string;
  /** Which other clients may hold beside a holder. */
  readonly sharing: "none" | "readers" | "any";
  readonly renewal: BatchKind<RenewEntry, RenewAnswer>;
  readonly renewKeys: readonly string[];
  /** Set for kinds that have a queue of ours. */
  readonly proof?: { readonly keys: readonly string[]; readonly channel: string };
}

/** A grant as the `Holds` of its provider know it. */
export interface Held extends Pick<Renewable, "slot" | "ended" | "validUntilMs"> {
  readonly spec: {
    readonly owner: string;
    /** The name by which the server knows the hold. */
    readonly field: string;
    readonly lock: GrantedLock;
  };
  readonly token: FencingToken;
  readonly permitIds: readonly string[];
  readonly renewals: DueRenewals;
  /** Run id of the master that confirmed the hold last. */
  readonly runId: string;
  /** When the request was sent whose answer has shown last that the hold stands; `-Infinity` while that is in doubt. */
  provenMs(): Millis;
  /** Asks the server whether the hold still stands. Resolves when the first answer or failure has come; never rejects. */
  recheck(): Promise<void>;
  /** Sets the full lease if the hold was handed over. Never rejects. */
  claim(): Promise<void>;
  /** Whether its caller has it. */
  readonly delivered: boolean;
  /** Marks the hold as being in doubt. From now on each question about it gets that answer. `hear()` notifies its holder. */
  doubt(): void;
  hear(): void;
  revokeAsked(): void;
  /** Another client asks for the lock, which this provider may only keep. */
  wanted(): void;
  lost(reason: LossReason): void;
}

/** All holds of one provider, by their field on the wire: one owner may have a write and a read at once. */
export class Holds {
  readonly #requests: Requests;
  readonly #owners: WireOwners;
  readonly #holds = new Map<string, Held>();
  readonly #byKey = new Groups<string, Held>();
  readonly #bySlot = new Groups<number, Held>();
  /** When each owner of this process was last notified that its lock was taken by force. */
  readonly #forced: RecentMap<string, Millis>;
  /** Calls that are repeated at the next tick. */
  readonly #retries: (() => void)[] = [];
  /** For each hold that was handed over: when its first renewal is due, the earliest first. */
  readonly #claiming = new Map<Held, Millis>();
  readonly #claims: EarliestTimer;
  #renewRounds = 0;
  /**
   * How often contact was broken. Each hold compares this with the value that it saw last, since visiting 100,000 holds takes 20
   * ms or more.
   */
  breaks = 0;
  /** Holds that their callers do not have yet, and some that were delivered meanwhile. */
  readonly #undelivered = new Set<Held>();
  #mostUndelivered = leastUndelivered;

  constructor(requests: Requests, owners: WireOwners) {
    const { runtime, settings } = requests;
    this.#requests = requests;
    this.#owners = owners;
    const over = (heardMs: Millis) => runtime.nowMs() - heardMs >= 10 * settings.aliveMs;
    this.#forced = new RecentMap(rememberedForced, over);
    this.#claims = new EarliestTimer(runtime, () => this.#claimDue());
  }

  /**
   * Adds a hold. By granting it, the server has just shown that other holds of this provider which exclude it are over. Their
   * holders are notified of the loss before this grant is delivered. Readers may hold beside each other, and beside a writer only
   * if it is the same owner.
   *
   * This hold is added first: a holder that is notified of its loss may react by ending this very grant, which then has to be
   * removed here.
   *
   * `judges`: whether the answer counts now. An answer of a master that was replaced shows nothing about other holds.
   */
  add(hold: Held, judges: boolean): void {
    const { owner, field, lock } = hold.spec;
    const { key, sharing } = lock;
    this.#holds.set(field, hold);
    this.#byKey.add(key, hold);
    if (hold.slot !== null) this.#bySlot.add(hold.slot, hold);
    this.toBeDelivered(hold);
    // Nearly always the hold is alone on its key; otherwise the others may be beside it.
    if (!judges || sharing === "any" || this.#byKey.isAlone(key, hold)) return;
    for (const other of this.on(key)) {
      const { spec } = other;
      if (spec.owner === owner) continue;
      if (sharing === "none" || spec.field === writerField(spec.owner)) other.lost("lease-missing");
    }
  }

  /**
   * An operator freed the lock although this owner held it. The message may arrive before the answer that makes the owner a
   * holder. A hold that such an answer brings is in doubt from its start: its caller gets it once a renewal that was sent later
   * has confirmed it.
   */
  stolen(owner: string): void {
    for (const hold of this.of(owner)) hold.lost("stolen");
    if (this.#owners.hasDrawn(owner)) this.#forced.set(owner, this.#requests.runtime.nowMs());
  }

  /** Whether a message of a forced release came after the request for a grant was sent, so that it may have ended this grant. */
  stolenSince(owner: string, askedMs: Millis): boolean {
    return askedMs <= (this.#forced.get(owner) ?? -Infinity);
  }

  /** Rule 2: a hold that was handed over is renewed after 10 ms, unless it is over by then. One timer serves all holds. */
  claimSoon(hold: Held): void {
    const { runtime, settings } = this.#requests;
    const dueMs = runtime.nowMs() + Math.min(claimAfterMs, settings.claimLeaseMs * claimAfterShare);
    this.#claiming.set(hold, dueMs);
    this.#claims.ringBy(dueMs);
  }

  #claimDue(): void {
    const { runtime } = this.#requests;
    const due: Held[] = [];
    for (const [hold, dueMs] of this.#claiming) {
      if (dueMs > runtime.nowMs()) {
        this.#claims.ringBy(dueMs);
        break;
      }
      this.#claiming.delete(hold);
      due.push(hold);
    }
    inSlices(runtime, due, (hold) => void hold.claim());
  }

  /**
   * The caller does not have this hold yet, after a grant or after a kept lock was lent. A break of contact is reported to such a
   * hold at once.
   */
  toBeDelivered(hold: Held): void {
    this.#undelivered.add(hold);
    if (this.#undelivered.size <= this.#mostUndelivered) return;
    for (const each of this.#undelivered) if (each.delivered) this.#undelivered.delete(each);
    this.#mostUndelivered = Math.max(leastUndelivered, 2 * this.#undelivered.size);
  }

  remove(hold: Held): void {
    // If nothing is left to claim, stop the timer. It would wake the process for nothing after nearly each hand-over in a crowd.
    if (this.#claiming.delete(hold) && this.#claiming.size === 0) this.#claims.clear();
    this.#undelivered.delete(hold);
    const { field, lock } = hold.spec;
    if (this.#holds.get(field) === hold) this.#holds.delete(field);
    this.#byKey.remove(lock.key, hold);
    if (hold.slot !== null) this.#bySlot.remove(hold.slot, hold);
  }

  get size(): number {
    return this.#holds.size;
  }

  /** All holds of one owner: a write, and a read beside it. */
  of(owner: string): readonly Held[] {
    const holds = [this.#holds.get(writerField(owner)), this.#holds.get(owner)];
    return holds.filter((hold) => hold !== undefined);
  }

  /** The holds on one key, such as the takes of a semaphore. */
  on(key: string): readonly Held[] {
    return [...this.#byKey.of(key)];
  }

  /** The holds of one slot. In a cluster their renewals fit into one call. */
  inSlot(slot: number | null): readonly Held[] {
    return slot === null ? [] : [...this.#bySlot.of(slot)];
  }

  /** Until a server answers it is unknown whether a hold still stands. Its deadline does not move. */
  contactBroken(): void {
    this.breaks++;
    for (const hold of this.#undelivered) hold.doubt();
    this.#tellDoubted();
  }

  /**
   * Rule 9: a master that was a replica, or that came back without its last writes, may not know a hold. The time bound and every
   * message of the old run id are invalid, also those that arrive later. A hold is in doubt until the new master confirms it.
   * While no master is known for a key of a cluster, it is also unknown whether its holds stand.
   */
  masterChanged(): void {
    const masterOf = this.#masters();
    this.#doubt((hold) => masterOf(hold) !== hold.runId);
  }

  /** Rule 1: leases at this server end by another clock than the one by which they were read. */
  clockStepped(runId: string): void {
    this.#doubt((hold) => hold.runId === runId);
    this.renewAll();
  }

  /** Messages of the grant channel may be missing, and one of them may have said that another client wants the lock. */
  messagesMissed(): void {
    if (!this.#requests.settings.keeps) return;
    for (const hold of [...this.#holds.values()]) hold.wanted();
  }

  /** Marks all of them in this step, because the reason for the doubt may be visible only now. */
  #doubt(concerns: (hold: Held) => boolean): void {
    for (const hold of this.#holds.values()) if (concerns(hold)) hold.doubt();
    this.#tellDoubted();
  }

  /**
   * Notifies the holders. With very many holds some are notified in later turns of the event loop. No list is made, since
   * `hear()` does nothing for a hold without doubt.
   */
  #tellDoubted(): void {
    inSlices(this.#requests.runtime, this.#holds.values(), (hold) => hold.hear());
  }

  /**
   * Asks the server about every hold. Up to `mostRechecks` holds of each master are asked about at once, and each answer starts
   * the next question. Otherwise 100,000 requests would wait for their turn: they take 250 MB, which the garbage collector
   * copies. Masters are asked independently, so that a silent one does not delay the others. Only the latest call goes on: it
   * asks about all holds, and an earlier one stops.
   */
  renewAll(): void {
    const round = ++this.#renewRounds;
    for (const holds of this.#byMaster()) {
      const goThrough = async (): Promise<void> => {
        for (const hold of holds) {
          if (round !== this.#renewRounds) return;
          if (!hold.ended) await hold.recheck();
        }
      };
      for (let lane = Math.min(mostRechecks, this.#holds.size); lane > 0; lane--) void goThrough();
    }
  }

  #byMaster(): Iterable<IterableIterator<Held>> {
    if (this.#bySlot.size === 0) return [this.#holds.values()];
    const masterOf = this.#masters();
    const byMaster = new Map<string | null, Held[]>();
    for (const hold of this.#holds.values()) {
      const master = masterOf(hold);
      const others = byMaster.get(master);
      if (others === undefined) byMaster.set(master, [hold]);
      else others.push(hold);
    }
    return [...byMaster.values()].map((holds) => holds.values());
  }

  /**
   * Returns a function that gives the present master of a hold. The line is asked once for each slot, since computing the slots
   * of very many keys would take too long.
   */
  #masters(): (hold: Held) => string | null {
    const masters = new Map<number | null, string | null>();
    return ({ slot, spec }) => {
      let master = masters.get(slot);
      if (master === undefined) {
        master = this.#requests.line.masterOf(spec.lock.key);
        masters.set(slot, master);
      }
      return master;
    };
  }

  /** Runs `retry` within 100 ms. One timer serves all, since contact may break for ten thousand holds at once. */
  soon(retry: () => void): void {
    this.#retries.push(retry);
    if (this.#retries.length > 1) return;
    const { runtime } = this.#requests;
    runtime.setTimer(retryMs, () => inSlices(runtime, this.#retries.splice(0), (each) => each()));
  }
}
