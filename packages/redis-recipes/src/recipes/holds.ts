import type { Millis } from "@holdfast/core";
import { writerField } from "../layout/owners.js";
import type { RedisDesk } from "./desk.js";
import type { RedisGrant } from "./redis-grant.js";

/** Older thefts than the last so many are forgotten: a hold that one of them was about is found gone by its first renewal. */
const rememberedThefts = 10_000;

/** All holds of one provider, by their field on the wire: an owner may write and read at once. */
export class Holds {
  readonly #desk: RedisDesk;
  readonly #holds = new Map<string, RedisGrant>();
  readonly #byKey = new Map<string, Set<RedisGrant>>();
  readonly #bySlot = new Map<number, Set<RedisGrant>>();
  /** When each owner of this process last heard that its lock was taken by force. */
  readonly #thefts = new Map<string, Millis>();

  constructor(desk: RedisDesk) {
    this.#desk = desk;
  }

  /**
   * Where another of this provider is still in the books that may not stand beside it, the server has just said that it is over, and it
   * hears that before anybody gets the new one. Readers stand beside each other, and beside a writer of the same owner alone.
   */
  add(hold: RedisGrant): void {
    const { lock, field, owner } = hold.spec;
    if (lock.sharing !== "any") {
      for (const other of this.on(lock.key)) {
        const { spec } = other;
        if (spec.owner === owner) continue;
        if (lock.sharing === "none" || spec.field === writerField(spec.owner)) other.lost("lease-missing");
      }
    }
    this.#holds.set(field, hold);
    put(this.#byKey, lock.key, hold);
    if (hold.slot !== null) put(this.#bySlot, hold.slot, hold);
  }

  /**
   * An operator freed the lock under this owner. The message may overtake the answer that makes the owner a holder. A hold that
   * such an answer brings is in doubt from its start: it reaches its caller once a renewal that was sent later has confirmed it.
   */
  stolen(owner: string): void {
    for (const hold of this.of(owner)) hold.lost("stolen");
    if (!this.#desk.hasDrawn(owner)) return;
    const { runtime, settings } = this.#desk;
    const nowMs = runtime.nowMs();
    this.#thefts.delete(owner);
    this.#thefts.set(owner, nowMs);
    for (const [each, toldMs] of this.#thefts) {
      if (nowMs - toldMs < 10 * settings.aliveMs && this.#thefts.size <= rememberedThefts) break;
      this.#thefts.delete(each);
    }
  }

  /** Whether news of a theft came after the request for a grant was sent: the theft may have ended that very grant. */
  stolenSince(owner: string, askedMs: Millis): boolean {
    return askedMs <= (this.#thefts.get(owner) ?? -Infinity);
  }

  remove(hold: RedisGrant): void {
    const { lock, field } = hold.spec;
    if (this.#holds.get(field) === hold) this.#holds.delete(field);
    take(this.#byKey, lock.key, hold);
    if (hold.slot !== null) take(this.#bySlot, hold.slot, hold);
  }

  find(owner: string): RedisGrant | undefined {
    return this.#holds.get(owner) ?? this.#holds.get(writerField(owner));
  }

  /** All that one owner holds: a write, and a read beside it. */
  of(owner: string): readonly RedisGrant[] {
    const holds = [this.#holds.get(writerField(owner)), this.#holds.get(owner)];
    return holds.filter((hold) => hold !== undefined);
  }

  /** Those on one key, such as the takes of a semaphore. */
  on(key: string): readonly RedisGrant[] {
    return [...(this.#byKey.get(key) ?? [])];
  }

  /** In a cluster, those whose renewals fit into one call. */
  inSlot(slot: number | null): readonly RedisGrant[] {
    return slot === null ? [] : [...(this.#bySlot.get(slot) ?? [])];
  }

  /** Nobody can say more until somebody answers; the deadlines go on. */
  contactBroken(): void {
    for (const hold of [...this.#holds.values()]) hold.becomeUncertain();
  }

  /**
   * Rule 9: a master that was a replica, or that came back without its last writes, may know nothing of a hold. Its bound and every
   * message of the old run id are void, also those that arrive later; a hold is in doubt until the new one confirms it. While no
   * master is known for a key of a cluster, nobody can say more of its holds either.
   */
  masterChanged(): void {
    const { line } = this.#desk;
    for (const hold of [...this.#holds.values()]) {
      if (line.masterOf(hold.spec.lock.key) !== hold.runId) hold.becomeUncertain();
    }
  }

  /** Rule 1: leases at this server end by another clock than the one they were read by. */
  clockStepped(runId: string): void {
    for (const hold of [...this.#holds.values()]) {
      if (hold.runId !== runId) continue;
      hold.becomeUncertain();
      void hold.recheck();
    }
  }

  /** All in the same turn, so that they leave as few calls. */
  renewAll(): void {
    for (const hold of [...this.#holds.values()]) void hold.recheck();
  }
}

function put<K>(index: Map<K, Set<RedisGrant>>, at: K, hold: RedisGrant): void {
  const there = index.get(at);
  if (there === undefined) index.set(at, new Set([hold]));
  else there.add(hold);
}

function take<K>(index: Map<K, Set<RedisGrant>>, at: K, hold: RedisGrant): void {
  const there = index.get(at);
  if (there?.delete(hold) === true && there.size === 0) index.delete(at);
}
