import { writerField } from "../layout/owners.js";
import type { RedisDesk } from "./desk.js";
import type { RedisHold } from "./redis-hold.js";

/** All holds of one provider, by their field on the wire: an owner may write and read at once. */
export class Holds {
  readonly #desk: RedisDesk;
  readonly #holds = new Map<string, RedisHold>();
  readonly #byKey = new Map<string, Set<RedisHold>>();

  constructor(desk: RedisDesk) {
    this.#desk = desk;
  }

  /** Of kinds that several may hold at once. */
  add(hold: RedisHold): void {
    const { key, field } = hold.spec;
    this.#holds.set(field, hold);
    const beside = this.#byKey.get(key);
    if (beside === undefined) this.#byKey.set(key, new Set([hold]));
    else beside.add(hold);
  }

  /**
   * As `add`, of a lock that has one holder: where another of this provider is still in the books, the server has just said that it
   * is over, and it hears that before anybody gets the new one.
   */
  addAlone(hold: RedisHold): void {
    for (const other of this.#others(hold)) other.lost("lease-missing");
    this.add(hold);
  }

  /** As `add`, of a read: readers stand beside each other, and beside a writer of the same owner alone. */
  addReader(hold: RedisHold): void {
    for (const other of this.#others(hold)) {
      if (other.spec.field === writerField(other.spec.owner)) other.lost("lease-missing");
    }
    this.add(hold);
  }

  remove(hold: RedisHold): void {
    const { key, field } = hold.spec;
    if (this.#holds.get(field) === hold) this.#holds.delete(field);
    const beside = this.#byKey.get(key);
    if (beside?.delete(hold) === true && beside.size === 0) this.#byKey.delete(key);
  }

  find(owner: string): RedisHold | undefined {
    return this.#holds.get(owner) ?? this.#holds.get(writerField(owner));
  }

  /** All that one owner holds: a write, and a read beside it. */
  of(owner: string): readonly RedisHold[] {
    const holds = [this.#holds.get(writerField(owner)), this.#holds.get(owner)];
    return holds.filter((hold) => hold !== undefined);
  }

  /** Those on one key, such as the takes of a semaphore. */
  on(key: string): readonly RedisHold[] {
    return [...(this.#byKey.get(key) ?? [])];
  }

  #others({ spec }: RedisHold): readonly RedisHold[] {
    return this.on(spec.key).filter((other) => other.spec.owner !== spec.owner);
  }

  /** Nobody can say more until somebody answers; the deadlines go on. */
  contactBroken(): void {
    for (const hold of [...this.#holds.values()]) hold.becomeUncertain();
  }

  /**
   * Rule 9: a master that was a replica, or that came back without its last writes, may know nothing of a hold. Its bound and every
   * message of the old run id are void, also those that arrive later; a hold is in doubt until the new one confirms it.
   */
  masterChanged(): void {
    const { line } = this.#desk;
    for (const hold of [...this.#holds.values()]) {
      if (line.masterOf(hold.spec.key) !== hold.runId) hold.becomeUncertain();
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
