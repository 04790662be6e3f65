import type { FencingToken, LossReason, Millis } from "@holdfast/core";
import { EarliestTimer, inSlices, RecentMap } from "@holdfast/core/internal";
import { type WireOwners, writerField } from "../../layout/owners.js";
import type { RenewAnswer, RenewEntry } from "../../scripts/mutex/renew.js";
import type { BatchKind } from "../requests/batches.js";
import { Groups } from "../requests/groups.js";
import type { Requests } from "../requests/requests.js";
import type { DueRenewals, Renewable } from "./due-renewals.js";

/** Forced releases beyond the last so many are forgotten: a hold that one of them ended is found gone by its first renewal. */
const rememberedForced = 10_000;

/** So many holds are in the list of the undelivered before those that were delivered since are taken out of it. */
const leastUndelivered = 100;
/** So many holds are asked about at a time: more than go in the calls that a connection has under way. */
const mostRechecks = 500;
/** After a renewal that failed. */
const retryMs: Millis = 100;
/** A hold that was handed over and ends within this time, or this share of its claim lease, costs no renewal. */
const claimAfterMs: Millis = 10;
const claimAfterShare = 1 / 30;

/** The lock of a grant, as far as a grant has to know it. */
export interface GrantedLock {
  /** The name as the caller gave it. */
  readonly name: string;
  /** Decides which master has to confirm the grant. */
  readonly key: string;
  /** Which other clients may hold beside a holder. */
  readonly sharing: "none" | "readers" | "any";
  readonly renewal: BatchKind<RenewEntry, RenewAnswer>;
  readonly renewKeys: readonly string[];
  /** Set for kinds with a queue of ours. */
  readonly proof?: { readonly keys: readonly string[]; readonly channel: string };
}

/** A grant, as the books of its provider know it. */
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
  /** Run id of the master that confirmed it last. */
  readonly runId: string;
  /** Asks the server whether it still stands. Resolves when that was answered or has failed for the first time; never rejects. */
  recheck(): Promise<void>;
  /** Sets the full lease where it was handed over. Never rejects. */
  claim(): Promise<void>;
  /** Its caller has it. */
  readonly delivered: boolean;
  /** The hold is in doubt from now on, and each later question gets this answer. `hear()` notifies its holder. */
  doubt(): void;
  hear(): void;
  revokeAsked(): void;
  /** Another client asks for the lock, which this provider may only keep. */
  wanted(): void;
  lost(reason: LossReason): void;
}

/** All holds of one provider, by their field on the wire: an owner may write and read at once. */
export class Holds {
  readonly #requests: Requests;
  readonly #owners: WireOwners;
  readonly #holds = new Map<string, Held>();
  readonly #byKey = new Groups<string, Held>();
  readonly #bySlot = new Groups<number, Held>();
  /** When each owner of this process last heard that its lock was taken by force. */
  readonly #forced: RecentMap<string, Millis>;
  /** What is tried again at the next tick. */
  readonly #retries: (() => void)[] = [];
  /** When the first renewal of each hold is due that was handed over; the earliest first. */
  readonly #claiming = new Map<Held, Millis>();
  readonly #claims: EarliestTimer;
  #renewRounds = 0;
  /** How often contact has broken. Each hold compares it with what it has heard: to look at 100,000 of them takes 20 ms and more. */
  breaks = 0;
  /** Holds whose callers do not have them yet, and some that were delivered since. */
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
   * Another hold of this provider that may not stand beside this one is over, as the server has just said by granting this one: its holder
   * hears of the loss before this grant is delivered. Readers stand beside each other, and beside a writer of the same owner alone.
   *
   * This hold is in the books by then, because what a holder does on hearing it may end this very grant, which takes it out of the books.
   *
   * `judges`: the answer is one that counts now. Of a master that was replaced it says nothing of what others hold.
   */
  add(hold: Held, judges: boolean): void {
    const { owner, field, lock } = hold.spec;
    const { key, sharing } = lock;
    this.#holds.set(field, hold);
    this.#byKey.add(key, hold);
    if (hold.slot !== null) this.#bySlot.add(hold.slot, hold);
    this.toBeDelivered(hold);
    // Alone on its key, as nearly always, or among those that may stand beside it.
    if (!judges || sharing === "any" || this.#byKey.isAlone(key, hold)) return;
    for (const other of this.on(key)) {
      const { spec } = other;
      if (spec.owner === owner) continue;
      if (sharing === "none" || spec.field === writerField(spec.owner)) other.lost("lease-missing");
    }
  }

  /**
   * An operator freed the lock under this owner. The message may overtake the answer that makes the owner a holder. A hold that
   * such an answer brings is in doubt from its start: it reaches its caller once a renewal that was sent later has confirmed it.
   */
  stolen(owner: string): void {
    for (const hold of this.of(owner)) hold.lost("stolen");
    if (this.#owners.hasDrawn(owner)) this.#forced.set(owner, this.#requests.runtime.nowMs());
  }

  /** Whether a message of a forced release came after the request for a grant was sent: it may have ended that very grant. */
  stolenSince(owner: string, askedMs: Millis): boolean {
    return askedMs <= (this.#forced.get(owner) ?? -Infinity);
  }

  /** Rule 2: a hold that was handed over is renewed after 10 ms, and not at all where it is over by then. One timer serves all holds. */
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

  /** The caller does not have this hold yet, after a grant, or after a kept lock was lent: a break of contact reaches such a hold at once. */
  toBeDelivered(hold: Held): void {
    this.#undelivered.add(hold);
    if (this.#undelivered.size <= this.#mostUndelivered) return;
    for (const each of this.#undelivered) if (each.delivered) this.#undelivered.delete(each);
    this.#mostUndelivered = Math.max(leastUndelivered, 2 * this.#undelivered.size);
  }

  remove(hold: Held): void {
    // With nothing left to claim the timer would wake the process for nothing, as it would for nearly each hand-over in a crowd.
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

  /** All that one owner holds: a write, and a read beside it. */
  of(owner: string): readonly Held[] {
    const holds = [this.#holds.get(writerField(owner)), this.#holds.get(owner)];
    return holds.filter((hold) => hold !== undefined);
  }

  /** The holds on one key, such as the takes of a semaphore. */
  on(key: string): readonly Held[] {
    return [...this.#byKey.of(key)];
  }

  /** The holds of one slot: in a cluster their renewals fit into one call. */
  inSlot(slot: number | null): readonly Held[] {
    return slot === null ? [] : [...this.#bySlot.of(slot)];
  }

  /** Whether a hold still stands is unknown until a server answers; its deadline goes on. */
  contactBroken(): void {
    this.breaks++;
    for (const hold of this.#undelivered) hold.doubt();
    this.#tellDoubted();
  }

  /**
   * Rule 9: a master that was a replica, or that came back without its last writes, may know nothing of a hold. Its bound and every
   * message of the old run id are void, also those that arrive later; a hold is in doubt until the new one confirms it. While no
   * master is known for a key of a cluster, whether its holds stand is unknown as well.
   */
  masterChanged(): void {
    const masterOf = this.#masters();
    this.#doubt((hold) => masterOf(hold) !== hold.runId);
  }

  /** Rule 1: leases at this server end by another clock than the one they were read by. */
  clockStepped(runId: string): void {
    this.#doubt((hold) => hold.runId === runId);
    this.renewAll();
  }

  /** Messages of the grant channel may be missing, the wish of another client among them. */
  messagesMissed(): void {
    if (!this.#requests.settings.keeps) return;
    for (const hold of [...this.#holds.values()]) hold.wanted();
  }

  /** All in this very step, as what is in doubt may be known of this moment alone. */
  #doubt(concerns: (hold: Held) => boolean): void {
    for (const hold of this.#holds.values()) if (concerns(hold)) hold.doubt();
    this.#tellDoubted();
  }

  /** Notifies the holders; with very many holds some in later turns of the event loop. No list is made: without doubt `hear()` does nothing. */
  #tellDoubted(): void {
    inSlices(this.#requests.runtime, this.#holds.values(), (hold) => hold.hear());
  }

  /**
   * The next is asked about when one was heard of: 100,000 requests that wait for their turn are 250 MB, which the garbage collector copies.
   * What is at another master does not wait for one that is silent. The latest call asks about all; what is left of one before ends.
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

  /** Gives the present master of each hold; asked once for each slot, because the slots of very many keys would take too long. */
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

  /** Runs `retry` within 100 ms: one timer for all, since contact breaks for ten thousand at once. */
  soon(retry: () => void): void {
    this.#retries.push(retry);
    if (this.#retries.length > 1) return;
    const { runtime } = this.#requests;
    runtime.setTimer(retryMs, () => inSlices(runtime, this.#retries.splice(0), (each) => each()));
  }
}
