import type { FencingToken, LossReason, Millis } from "@holdfast/core";
import { inSlices, RecentMap } from "@holdfast/core/internal";
import { type WireOwners, writerField } from "../../layout/owners.js";
import type { RenewAnswer, RenewEntry } from "../../scripts/mutex/renew.js";
import type { BatchKind } from "../requests/batches.js";
import { put, take } from "../requests/grouped.js";
import type { Requests } from "../requests/requests.js";
import type { DueRenewals } from "./due-renewals.js";

/** Forced releases beyond the last so many are forgotten: a hold that one of them ended is found gone by its first renewal. */
const rememberedForced = 10_000;

/** After a renewal that failed. */
const retryMs: Millis = 100;

/** The lock of a grant, as far as a grant has to know it. */
export interface GrantedLock {
  /** As the caller gave it. */
  readonly name: string;
  /** Decides which master has to confirm the grant. */
  readonly key: string;
  /** Who may hold beside a holder. */
  readonly sharing: "none" | "readers" | "any";
  readonly renewal: BatchKind<RenewEntry, RenewAnswer>;
  readonly renewKeys: readonly string[];
  /** Of kinds with a queue of ours. */
  readonly proof?: { readonly keys: readonly string[]; readonly channel: string };
}

/** A grant, as the books of its provider know it. */
export interface Held {
  readonly spec: {
    readonly owner: string;
    /** As the server knows it. */
    readonly field: string;
    readonly lock: GrantedLock;
  };
  readonly slot: number | null;
  readonly token: FencingToken;
  readonly permitIds: readonly string[];
  readonly renewals: DueRenewals;
  validUntilMs(): Millis;
  /** Of the master that confirmed it last. */
  readonly runId: string;
  /** Asks the server whether it still stands. Never rejects. */
  recheck(): Promise<void>;
  /** It is in doubt from now on, and whoever asks it hears so. Its holder is told by `hear()`. */
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
  readonly #byKey = new Map<string, Set<Held>>();
  readonly #bySlot = new Map<number, Set<Held>>();
  /** When each owner of this process last heard that its lock was taken by force. */
  readonly #forced: RecentMap<string, Millis>;
  /** What is tried again at the next tick. */
  readonly #retries: (() => void)[] = [];

  constructor(requests: Requests, owners: WireOwners) {
    const { runtime, settings } = requests;
    this.#requests = requests;
    this.#owners = owners;
    const over = (heardMs: Millis) => runtime.nowMs() - heardMs >= 10 * settings.aliveMs;
    this.#forced = new RecentMap(rememberedForced, over);
  }

  /**
   * Another hold of this provider that may not stand beside this one is over, as the server has just said by granting this one: its holder
   * hears of the loss before this grant is delivered. Readers stand beside each other, and beside a writer of the same owner alone.
   *
   * This hold is in the books by then, because what a holder does on hearing it may end this very grant, which takes it out of the books.
   */
  add(hold: Held): void {
    const { owner, field, lock } = hold.spec;
    const { key, sharing } = lock;
    this.#holds.set(field, hold);
    put(this.#byKey, key, hold);
    if (hold.slot !== null) put(this.#bySlot, hold.slot, hold);
    // Alone on its key, as nearly always, or among those that may stand beside it.
    if (sharing === "any" || this.#byKey.get(key)?.size === 1) return;
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

  remove(hold: Held): void {
    const { field, lock } = hold.spec;
    if (this.#holds.get(field) === hold) this.#holds.delete(field);
    take(this.#byKey, lock.key, hold);
    if (hold.slot !== null) take(this.#bySlot, hold.slot, hold);
  }

  get size(): number {
    return this.#holds.size;
  }

  find(owner: string): Held | undefined {
    return this.#holds.get(owner) ?? this.#holds.get(writerField(owner));
  }

  /** All that one owner holds: a write, and a read beside it. */
  of(owner: string): readonly Held[] {
    const holds = [this.#holds.get(writerField(owner)), this.#holds.get(owner)];
    return holds.filter((hold) => hold !== undefined);
  }

  /** Those on one key, such as the takes of a semaphore. */
  on(key: string): readonly Held[] {
    return [...(this.#byKey.get(key) ?? [])];
  }

  /** In a cluster, those whose renewals fit into one call. */
  inSlot(slot: number | null): readonly Held[] {
    return slot === null ? [] : [...(this.#bySlot.get(slot) ?? [])];
  }

  /** Whether a hold still stands is unknown until a server answers; its deadline goes on. */
  contactBroken(): void {
    this.#doubt(() => true);
  }

  /**
   * Rule 9: a master that was a replica, or that came back without its last writes, may know nothing of a hold. Its bound and every
   * message of the old run id are void, also those that arrive later; a hold is in doubt until the new one confirms it. While no
   * master is known for a key of a cluster, whether its holds stand is unknown as well.
   */
  masterChanged(): void {
    const { line } = this.#requests;
    // The slots of very many keys would take too long.
    const masters = new Map<number | null, string | null>();
    for (const { slot, spec } of this.#holds.values())
      if (!masters.has(slot)) masters.set(slot, line.masterOf(spec.lock.key));
    this.#doubt(({ slot, runId }) => masters.get(slot) !== runId);
  }

  /** Rule 1: leases at this server end by another clock than the one they were read by. */
  clockStepped(runId: string): void {
    const doubted = this.#doubt((hold) => hold.runId === runId);
    inSlices(this.#requests.runtime, doubted, (hold) => void hold.recheck());
  }

  /** Messages of the grant channel may be missing, the wish of another client among them. */
  messagesMissed(): void {
    for (const hold of [...this.#holds.values()]) hold.wanted();
  }

  /** All in this very step, as what is in doubt may be known of this moment alone. The holders of very many are told in later turns of the event loop. */
  #doubt(concerns: (hold: Held) => boolean): readonly Held[] {
    const doubted = [...this.#holds.values()].filter(concerns);
    for (const hold of doubted) hold.doubt();
    inSlices(this.#requests.runtime, doubted, (hold) => hold.hear());
    return doubted;
  }

  /** As many in the same turn as it can bear, so that they leave as few calls. */
  renewAll(): void {
    inSlices(this.#requests.runtime, [...this.#holds.values()], (hold) => void hold.recheck());
  }

  /** Runs `retry` within 100 ms: one timer for all, since contact breaks for ten thousand at once. */
  soon(retry: () => void): void {
    this.#retries.push(retry);
    if (this.#retries.length > 1) return;
    const { runtime } = this.#requests;
    runtime.setTimer(retryMs, () => inSlices(runtime, this.#retries.splice(0), (each) => each()));
  }
}
