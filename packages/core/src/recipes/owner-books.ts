import type { PrimitiveKind } from "../api/capabilities.js";
import type { LockMode, Owner } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import type { Hold } from "../grants/hold.js";

/** A re-entrant lock; a read-write lock with both of its sides. */
export interface BookedLock {
  readonly kind: PrimitiveKind;
  readonly name: string;
}

interface Account {
  readonly holds: Map<LockMode, Hold>;
  asking: boolean;
  readonly waiting: Set<() => void>;
}

/**
 * Which owner holds, or asks for, which re-entrant lock of one provider. Owners are local: no other process sees them. An
 * owner has one request at a time for a lock, also where the lock has two sides, because what it then holds decides how the
 * next request goes on.
 */
export class OwnerBooks {
  readonly #accounts = new Map<string, Account>();

  find(lock: BookedLock, owner: Owner, mode: LockMode): Hold | undefined {
    return this.#accounts.get(key(lock, owner))?.holds.get(mode);
  }

  asking(lock: BookedLock, owner: Owner): boolean {
    return this.#accounts.get(key(lock, owner))?.asking === true;
  }

  begin(lock: BookedLock, owner: Owner): void {
    const accountKey = key(lock, owner);
    const account = this.#accounts.get(accountKey);
    if (account !== undefined) account.asking = true;
    else this.#accounts.set(accountKey, { holds: new Map(), asking: true, waiting: new Set() });
  }

  enter(hold: Hold): void {
    const account = this.#accounts.get(key(hold, hold.owner));
    // The hold may be over by the clock before its caller gets it. Its end was then reported already.
    if (account === undefined || !hold.check()) return;
    account.holds.set(hold.mode, hold);
    hold.onEnd = () => {
      account.holds.delete(hold.mode);
      this.#drop(hold, hold.owner, account);
    };
  }

  finish(lock: BookedLock, owner: Owner): void {
    const account = this.#accounts.get(key(lock, owner));
    if (account === undefined) return;
    account.asking = false;
    const woken = [...account.waiting];
    account.waiting.clear();
    this.#drop(lock, owner, account);
    for (const wake of woken) wake();
  }

  whenAsked(lock: BookedLock, owner: Owner, wake: () => void): () => void {
    const waiting = this.#accounts.get(key(lock, owner))?.waiting;
    waiting?.add(wake);
    return () => waiting?.delete(wake);
  }

  #drop(lock: BookedLock, owner: Owner, account: Account): void {
    const accountKey = key(lock, owner);
    if (account.holds.size > 0 || account.asking) return;
    if (this.#accounts.get(accountKey) === account) this.#accounts.delete(accountKey);
  }
}

/** The length is in the key because a separator inside a name could make two different keys equal. */
function key(lock: BookedLock, owner: Owner): string {
  return `${lock.kind}:${lock.name.length}:${lock.name}${owner.id}`;
}

const books = new WeakMap<GrantEngine, OwnerBooks>();

export function booksOf(engine: GrantEngine): OwnerBooks {
  let found = books.get(engine);
  if (found === undefined) {
    found = new OwnerBooks();
    books.set(engine, found);
  }
  return found;
}
